import { renderToStaticMarkup, renderToString } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AnyEvent } from '../core/wire.ts';
import type { UIComponentProps } from './oracles-context.ts';
import { OraclesProvider } from './oracles-provider.tsx';
import { type MessageContent, renderMessageContent } from './render-message-content.tsx';
import { useAgAction } from './use-ag-action.ts';
import { useChat } from './use-chat.ts';
import { useContractOracle } from './use-contract-oracle.ts';
import { useGetOpenIdToken } from './use-get-open-id-token.ts';
import { useMemoryEngine } from './use-memory-engine.ts';
import { useOracleSessions } from './use-oracle-sessions.ts';
import { useOraclesConfig } from './use-oracles-config.ts';

const Chart = ({ id, args, status, output }: UIComponentProps) => (
  <figure id={id} title={status}>
    {String(args.title)} {JSON.stringify(output)}
  </figure>
);
const Careless = (props: UIComponentProps) => <p title={Object.keys(props).toSorted().join()} />;
const render = (content: MessageContent, components = {}) =>
  renderToStaticMarkup(renderMessageContent(content, components));

const call = { id: 'c1', name: 'Chart', args: { title: 'Rain' }, status: 'done', output: 3 } as const;

describe('renderMessageContent', () => {
  it.each<[string, MessageContent, string]>([
    ['text', '**a**', '<p><strong>a</strong></p>'],
    ['nothing', undefined, ''],
    ["a user's text as it was typed", { type: 'human', content: '**a**' }, '<p>**a**</p>'],
    ['several', ['a', null, 'b'], '<p>a</p><p>b</p>'],
    [
      'an answer without a text',
      { type: 'ai', toolCalls: [call] } as unknown as MessageContent,
      '<figure id="c1" title="done">Rain 3</figure>',
    ],
    [
      'a message with a tool call and a component',
      {
        type: 'ai',
        content: 'done',
        toolCalls: [call],
        components: [{ componentName: 'Chart', args: { title: 'Sun' }, eventId: 'e1' }],
      },
      '<figure id="c1" title="done">Rain 3</figure><p>done</p><figure id="e1" title="done">Sun </figure>',
    ],
  ])('draws %s', (_name, content, html) => {
    expect(render(content, { Chart })).toBe(html);
  });

  it('shows what it does not know as one quiet line', () => {
    expect(render({ content: '', toolCalls: [{ ...call, name: 'other' }] }, { Chart })).toBe(
      '<small data-oracle-call="other" data-status="done">other ✓</small>',
    );
    for (const componentName of ['constructor', '__proto__', 'toString']) {
      const html = render({ content: '', components: [{ componentName, args: {}, eventId: 'e' }] }, { Chart });
      expect(html).toContain(`<small data-oracle-call="${componentName}"`);
    }
  });

  it('never spreads what the agent says over the props of a component', () => {
    const args = { dangerouslySetInnerHTML: { __html: '<script>' }, children: 'x', ref: 'y' };
    expect(render({ content: '', components: [{ componentName: 'Careless', args, eventId: 'e' }] }, { Careless })).toBe(
      '<p title="args,id,name,status"></p>',
    );
  });

  it('draws events', () => {
    const where = { sessionId: 's', requestId: 'r' };
    const events: AnyEvent[] = [
      { eventName: 'tool_call', payload: { ...where, eventId: 'e', toolName: 'look', args: {}, status: 'isRunning' } },
      {
        eventName: 'render_component',
        payload: { ...where, eventId: 'f', componentName: 'Chart', args: { title: 'x' }, status: 'done' },
      },
      { eventName: 'browser_tool_call', payload: { ...where, toolCallId: 'g', toolName: 'scroll', args: {} } },
      {
        eventName: 'action_call',
        payload: { ...where, toolCallId: 'h', toolName: 'paint', args: {}, status: 'error', error: 'no' },
      },
      { eventName: 'message', payload: { content: 'hi', timestamp: '' } },
      { eventName: 'pong', payload: { timestamp: '' } },
    ];
    expect(render(events, { Chart })).toBe(
      '<small data-oracle-call="look" data-status="isRunning">look …</small><figure id="f" title="done">x </figure>' +
        '<small data-oracle-call="scroll" data-status="isRunning">scroll …</small>' +
        '<small data-oracle-call="paint" data-status="error">paint ✕</small><p>hi</p>',
    );
  });
});

function Page() {
  const chat = useChat({ oracleDid: 'did:a', sessionId: 's', onPaymentRequiredError: () => {} });
  useAgAction({ name: 'x', description: '', parameters: z.object({}), handler: () => 1 });
  const { sessions } = useOracleSessions('did:a');
  const { isReady } = useOraclesConfig('did:a');
  const { isContracted } = useContractOracle('did:a');
  const { memories } = useMemoryEngine('did:a');
  const { openIdToken } = useGetOpenIdToken();
  return (
    <p>
      {chat.status} {String(chat.isLoading)} {chat.messages.length + sessions.length + memories.length}
      {String([isReady, isContracted, openIdToken])}
    </p>
  );
}

describe('on a server', () => {
  const wallet = { address: 'a', did: 'did:u', matrix: { accessToken: 't', homeServer: 'https://h.example' } };
  const refuse = async () => {
    throw new Error('nothing is signed on a server');
  };

  it('renders every hook without asking or signing anything', () => {
    const page = (
      <OraclesProvider
        initialWallet={wallet}
        transactSignX={refuse}
        createDelegation={refuse}
        createInvocation={refuse}
        credentialStorage="session"
        overrides={{ baseUrl: 'http://127.0.0.1:1' }}
        oracleDid="did:a"
      >
        <Page />
      </OraclesProvider>
    );
    expect(renderToString(page).replaceAll('<!-- -->', '')).toBe('<p>ready true 0true,false,</p>');
  });

  it('says what a hook outside of the provider is missing', () => {
    expect(() => renderToString(<Page />)).toThrow('useOraclesContext must be used within a OraclesProvider');
  });
});
