// Compiled against the built package with React 18 and 19, zod 3 and zod 4. Lines that must not compile say so.
import {
  type AnyEvent,
  type IChatOptions,
  type IMessage,
  OraclesProvider,
  renderMessageContent,
  type UIComponents,
  useAgAction,
  useChat,
  useContractOracle,
  useMemoryEngine,
  useOracleEvents,
  useOracleSessions,
  useOraclesConfig,
} from '@palaver/oracles-client-sdk';
import { createChat, createCredentialCache, createTransport } from '@palaver/oracles-client-sdk/core';
import type {} from '@palaver/oracles-client-sdk/element';
import { useLiveAgent } from '@palaver/oracles-client-sdk/live-agent';
import { z } from 'zod';

const sign = async (oracleDid: string) => ({ serialized: oracleDid, expiresAt: 0 });
const wallet = { address: 'a', did: 'd', matrix: { accessToken: 't', homeServer: 'h' } };

/** As clients of chains have it. */
interface EncodeObject {
  readonly typeUrl: string;
  // biome-ignore lint/suspicious/noExplicitAny: theirs.
  readonly value: any;
}
const signAndBroadcast = async (messages: readonly EncodeObject[], memo?: string) => [messages.length, memo];

export function App() {
  return (
    <OraclesProvider initialWallet={wallet} transactSignX={signAndBroadcast} createDelegation={sign}>
      <Chat />
    </OraclesProvider>
  );
}

// A DID is enough of a wallet.
export const minimal = <OraclesProvider initialWallet={{ did: 'did:key:z6Mk' }} createDelegation={sign} />;
// @ts-expect-error createDelegation is required
export const incomplete = <OraclesProvider initialWallet={wallet} />;
export const element = <palaver-chat url="http://127.0.0.1:4000" theme="dark" labels={{ send: 'Post' }} />;
// @ts-expect-error no such theme
export const faulty = <palaver-chat url="http://127.0.0.1:4000" theme="blue" />;

const uiComponents: UIComponents = { Chart: ({ args, status }) => <p title={status}>{String(args.title)}</p> };

function Chat() {
  const options: IChatOptions = {
    oracleDid: 'did:x:y',
    sessionId: 's',
    onPaymentRequiredError: (claimIds) => claimIds.map((id: string) => id),
    uiComponents,
    streamingMode: 'batched',
    overrides: { baseUrl: 'https://a.example' },
    browserTools: {
      add: {
        toolName: 'add',
        description: 'Adds.',
        schema: z.object({ a: z.number() }),
        fn: ({ a }: { a: number }) => a + 1,
      },
    },
  };
  const chat = useChat(options);
  useChat({
    oracleDid: 'did:x:y',
    sessionId: 's',
    onPaymentRequiredError: () => {},
    browserTools: {
      add: {
        toolName: 'add',
        description: 'Adds.',
        schema: z.object({ a: z.number() }),
        fn: ({ a }) => a.toFixed(1),
      },
      shout: {
        toolName: 'shout',
        description: 'Shouts.',
        schema: z.object({ text: z.string() }),
        // @ts-expect-error text is a string
        fn: ({ text }) => text.toFixed(1),
      },
    },
    onEvent: (event) => event.eventName === 'router_update' && event.payload.to.length,
    onFinish: ({ id }) => id.length,
  });
  useOracleEvents((event, sessionId) => [nameOf(event), sessionId]);
  const status: 'submitted' | 'streaming' | 'ready' | 'error' = chat.status;
  // @ts-expect-error streaming state is read from status
  void chat.isStreaming;
  // @ts-expect-error there is no events field
  void chat.events;
  const thread: IMessage[] = chat.messages;
  const sending: Promise<void> = chat.sendMessage('hi');
  const pending: Promise<void> = chat.abortStream();

  useAgAction({
    name: 'paint',
    description: 'Paints.',
    parameters: z.object({ colour: z.string(), coats: z.number().default(1) }),
    handler: async ({ colour, coats }) => {
      const text: string = colour;
      const count: number = coats;
      // @ts-expect-error colour is a string
      const wrong: number = colour;
      return `${text} ${count} ${wrong}`;
    },
    render: ({ status: state, args }) => <b title={state}>{args.colour.toUpperCase()}</b>,
  });

  const { sessions, createSession, deleteSession, hasMore, loadMore } = useOracleSessions('did:x:y');
  const { config, isReady } = useOraclesConfig('did:x:y');
  const { contract, pay, isContracted } = useContractOracle();
  const memory = useMemoryEngine();
  const live = useLiveAgent({ sessionId: 's', createWorker: () => new Worker('x') });
  return (
    <ul>
      {thread.map((message) => (
        <li key={message.key}>{renderMessageContent(message, uiComponents)}</li>
      ))}
      {sessions.map(({ sessionId }) => sessionId)}
      {renderMessageContent('text')} {status} {config?.price?.amount} {String(isReady && isContracted && hasMore)}
      {String(
        [pending, sending, createSession, deleteSession, loadMore, contract, pay, memory.search, live.join].length,
      )}
    </ul>
  );
}

export function nameOf(event: AnyEvent): string {
  if (event.eventName === 'tool_call') return event.payload.toolName;
  if (event.eventName === 'render_component') return event.payload.componentName;
  return event.eventName;
}

const credentials = createCredentialCache({ userDid: 'd', createDelegation: sign });
const transport = createTransport({ baseUrl: 'https://a.example', oracleDid: 'did:x:y', credentials });
export const plain = createChat({ transport, sessionId: 's' });
