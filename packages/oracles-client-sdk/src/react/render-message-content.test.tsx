import { renderToStaticMarkup, renderToString } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ChatMessage } from '../core/chat-message.ts';
import type { AnyEvent } from '../core/wire.ts';
import { toIMessage } from './message-content.ts';
import { useAgAction } from './oracles-context.ts';
import { OraclesProvider } from './oracles-provider.tsx';
import { type Renderable, renderMessageContent } from './render-message-content.tsx';
import type { UIComponentProps } from './ui-components.ts';
import { useOraclesConfig } from './use-agent.ts';
import { useChat } from './use-chat.ts';
import { useContractOracle } from './use-contract-oracle.ts';
import { useGetOpenIdToken, useMemoryEngine } from './use-memory-engine.ts';
import { useOracleSessions } from './use-oracle-sessions.ts';

const Chart = ({ id, args, status, output }: UIComponentProps) => (
  <figure id={id} title={status}>
    {String(args.title)} {JSON.stringify(output)}
  </figure>
);
const Careless = (props: UIComponentProps) => <p id={props.id} title={Object.keys(props).toSorted().join()} />;
const render = (content: Renderable, components = {}) =>
  renderToStaticMarkup(renderMessageContent(content, components));

type ToolCallEvent = Extract<AnyEvent, { eventName: 'tool_call' }>;
const ToolCall = ({ toolName, isLoading }: UIComponentProps<ToolCallEvent>) => <i>{`${toolName} ${isLoading}`}</i>;
const Failure = ({ output }: UIComponentProps) => <b>{output}</b>;

const call = { id: 'c1', name: 'Chart', args: { title: 'Rain' }, status: 'done', output: 3 } as const;

describe('renderMessageContent', () => {
  it.each<[string, Renderable, string]>([
    ['text', '**a**', '<p><strong>a</strong></p>'],
    ['nothing', undefined, ''],
    ["a user's text as it was typed", { type: 'human', content: '**a**' }, '<p>**a**</p>'],
    ['several', ['a', null, 'b'], '<p>a</p><p>b</p>'],
    [
      'an answer without a text',
      { type: 'ai', toolCalls: [call] } as unknown as Renderable,
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
    [
      'the content of a message in its order',
      toIMessage({
        content: 'First.Then.',
        type: 'ai',
        parts: [
          { type: 'text', text: 'First.' },
          { type: 'tool_call', ...call },
          { type: 'component', componentName: 'Chart', args: { title: 'Sun' }, eventId: 'e1' },
          { type: 'text', text: 'Then.' },
        ],
      } as ChatMessage).content,
      '<p>First.</p><figure id="c1" title="done">Rain 3</figure><figure id="e1" title="done">Sun </figure><p>Then.</p>',
    ],
  ])('draws %s', (_name, content, html) => {
    expect(render(content, { Chart })).toBe(html);
  });

  it('shows an unknown component as one small line', () => {
    expect(render({ content: '', toolCalls: [{ ...call, name: 'other' }] }, { Chart })).toBe(
      '<small data-oracle-call="other" data-status="done">other ✓</small>',
    );
    for (const componentName of ['constructor', '__proto__', 'toString']) {
      const html = render({ content: '', components: [{ componentName, args: {}, eventId: 'e' }] }, { Chart });
      expect(html).toContain(`<small data-oracle-call="${componentName}"`);
    }
  });

  it('gives a component what the agent says as properties, none that replaces its own or that React acts on', () => {
    const args = {
      city: 'Nairobi',
      id: 'mine',
      dangerouslySetInnerHTML: { __html: '<script>' },
      children: 'x',
      ref: 'y',
      srcDoc: 'z',
      onClick: 'w',
    };
    expect(render({ content: '', components: [{ componentName: 'Careless', args, eventId: 'e' }] }, { Careless })).toBe(
      '<p id="e" title="args,city,error,id,isLoading,name,output,status"></p>',
    );
  });

  it('draws calls of unknown tools with `ToolCall`, and why an answer failed with `Error`', () => {
    const { content } = toIMessage({
      content: 'So far',
      type: 'ai',
      toolCalls: [{ ...call, name: 'other' }],
      error: { message: 'broke', code: 'MODEL_FAILED', kind: 'model', retryable: true },
    } as unknown as ChatMessage);
    expect(render(content, { ToolCall, Error: Failure })).toBe('<i>other false</i><p>So far</p><b>broke</b>');
    expect(render(content)).toBe('<small data-oracle-call="other" data-status="done">other ✓</small><p>So far</p>');
  });

  it('shows what is to be approved: no character reverses or hides a part of it', () => {
    const capability = { can: 'bank/withdraw', with: 'did:x', nb: { limit: '1\u202e00\u200b' } };
    const approval = { approvalId: 'a', toolCallId: 'c', toolName: 'p\u2066ay', args: { to: '\u009bana' }, capability };
    const times = { askedAt: '', expiresAt: '', status: 'pending' as const };
    const shown = render({ type: 'ai', content: '', parts: [{ type: 'approval', ...approval, ...times }] });
    expect(shown).toContain('May p\\u2066ay run?');
    expect(shown).toContain('1\\u202e00\\u200b');
    expect(shown).toContain('\\u009bana');
    expect(shown).not.toMatch(/[\p{Cf}\x7f-\x9f]/u);
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
