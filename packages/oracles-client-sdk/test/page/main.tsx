import * as sdk from '@palaver/oracles-client-sdk';
import { type LiveParticipant, useLiveAgent } from '@palaver/oracles-client-sdk/live-agent';
import { createDelegation, createInvocation, parseSigner } from '@palaver/ucan';
import { Component, type ReactNode, StrictMode, useEffect, useRef, useState, version } from 'react';
import { createRoot } from 'react-dom/client';
import { z } from 'zod';
import { z as z3 } from 'zod3';

/** What a test says about itself in the page's address. */
const params = new URLSearchParams(location.search);
const need = (name: string) => params.get(name) ?? '';
const agentDid = need('did');
const overrides = need('url') ? { baseUrl: need('url') } : undefined;

const parsed = await parseSigner(need('key'));
if (!parsed.ok) throw new Error('the page needs a key');
const signer = need('user') ? parsed.ok.withDid(need('user') as `did:${string}:${string}`) : parsed.ok;
const capability = { can: 'oracle/*', with: 'ixo:oracle' } as const;
const wallet = {
  address: need('address') || 'ixo1user',
  did: signer.did() as string,
  matrix: { accessToken: 'matrix-token', homeServer: need('matrix') || 'https://matrix.example' },
};

/** What the tests look at beside the page itself. */
const log = {
  signed: 0,
  lengths: [] as number[],
  drawn: [] as string[],
  payments: [] as string[][],
  transactions: [] as unknown[],
  calls: [] as unknown[],
  events: [] as string[],
  finished: 0,
};
Object.assign(globalThis, { log, sdkNames: Object.keys(sdk) });

function App() {
  return (
    <sdk.OraclesProvider
      initialWallet={wallet}
      gatewayUrl={need('gateway') || undefined}
      oracleDid={need('bare') ? undefined : agentDid}
      overrides={overrides}
      transactSignX={async (messages, memo) => {
        log.transactions.push({ messages, memo });
        // A test may bring a chain.
        const { transact } = globalThis as { transact?: (messages: unknown, memo: unknown) => Promise<unknown> };
        return transact ? transact(messages, memo) : { code: 0, transactionHash: 'ABC' };
      }}
      createDelegation={(audience) => createDelegation({ issuer: signer, audience, capabilities: [capability] })}
      createInvocation={(audience) => {
        log.signed += 1;
        return createInvocation({ issuer: signer, audience, capability });
      }}
    >
      <h1>React {version}</h1>
      <Sessions />
      <About />
    </sdk.OraclesProvider>
  );
}

function Sessions() {
  const { sessions, createSession, forkSession, deleteSession, isLoading, error } = sdk.useOracleSessions(agentDid);
  const [chosen, choose] = useState(need('session'));
  return (
    <main>
      <nav>
        <button type="button" onClick={async () => choose((await createSession()).sessionId)}>
          New session
        </button>
        {isLoading && <p>Loading sessions</p>}
        {error && <p role="alert">{error.message}</p>}
        <ul id="sessions">
          {sessions.map(({ sessionId, title }) => (
            <li key={sessionId}>
              <button type="button" onClick={() => choose(sessionId)}>
                {title}
              </button>
              <button type="button" onClick={() => deleteSession(sessionId)}>
                Delete
              </button>
            </li>
          ))}
        </ul>
      </nav>
      {chosen && (
        <Chat sessionId={chosen} onFork={async (last) => choose((await forkSession(chosen, last)).sessionId)} />
      )}
      {chosen && need('twice') && <Second sessionId={chosen} />}
    </main>
  );
}

const Weather = ({ args, status, output }: sdk.UIComponentProps) => (
  <section className="card" data-status={status}>
    Weather in {String(args.city)}: {JSON.stringify(output)}
  </section>
);
const uiComponents = { weather: Weather };

function Chat({ sessionId, onFork }: { sessionId: string; onFork(last: sdk.IMessage): Promise<void> }) {
  const [text, setText] = useState('');
  const [theme, setTheme] = useState('light');
  const [paints, setPaints] = useState(0);
  const chat = sdk.useChat({
    oracleDid: agentDid,
    sessionId,
    uiComponents,
    streamingMode: need('mode') === 'batched' ? 'batched' : 'immediate',
    onPaymentRequiredError: (claimIds) => log.payments.push(claimIds),
    browserTools: {
      theme: {
        toolName: 'set_theme',
        description: 'Changes the colours of the page.',
        schema: z3.object({ theme: z3.enum(['light', 'dark']).describe('Which one') }),
        fn: (args: { theme: string }) => {
          log.calls.push(['set_theme', args]);
          setTheme(args.theme);
          return { was: theme };
        },
      },
    },
  });
  const length = chat.messages.at(-1)?.text.length ?? 0;
  useEffect(() => void log.lengths.push(length), [length]);
  sdk.useAgAction({
    name: 'paint',
    description: 'Paints a box.',
    parameters: z.object({ colour: z.string().min(1) }),
    handler: async ({ colour }) => {
      log.calls.push(['paint', colour, paints]);
      await new Promise((resolve) => setTimeout(resolve, 300));
      if (colour === 'none') throw new Error('no such paint');
      setPaints(paints + 1);
      return `painted ${colour}`;
    },
    render({ status, isExecuting, args, result, error }) {
      const state = isExecuting ? 'executing' : status;
      log.drawn.push(state);
      return (
        <section className="card" data-action={state} style={{ borderColor: args.colour }}>
          Box {args.colour}: {status} {String(result ?? error ?? '')} (theme {theme})
        </section>
      );
    },
  });
  return (
    <article id="chat" data-theme={theme} data-status={chat.status} data-connected={chat.isRealTimeConnected}>
      {chat.isLoading && <p>Loading messages</p>}
      {chat.hasMore && (
        <button type="button" onClick={chat.loadMore}>
          Older
        </button>
      )}
      <ol id="messages">
        {chat.messages.map((message) => (
          <li key={message.id} className={message.type} data-status={message.status}>
            {message.reasoning && <details>{message.reasoning}</details>}
            {sdk.renderMessageContent(message)}
          </li>
        ))}
      </ol>
      <p id="error" role="alert">
        {chat.error?.message} {chat.sendMessageError?.message}
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          chat.sendMessage(text);
          setText('');
        }}
      >
        <input value={text} onChange={(event) => setText(event.target.value)} aria-label="Message" />
        <button type="submit">Send</button>
        <button type="button" onClick={chat.abortStream} disabled={!chat.isSending}>
          Stop
        </button>
        <button type="button" onClick={chat.retry}>
          Retry
        </button>
        <button type="button" onClick={() => void chat.refetchMessages()}>
          Refetch
        </button>
        <button type="button" onClick={() => chat.messages.slice(1, 2).forEach(onFork)}>
          Fork
        </button>
      </form>
      <Call sessionId={sessionId} />
    </article>
  );
}

/** Another component that shows the same session. */
function Second({ sessionId }: { sessionId: string }) {
  const { messages, isRealTimeConnected } = sdk.useChat({
    oracleDid: agentDid,
    sessionId,
    onPaymentRequiredError: () => {},
    onFinish: () => {
      log.finished += 1;
    },
    browserTools: {
      second: {
        toolName: 'second_tool',
        description: 'A tool of the second component.',
        schema: z.object({}),
        fn: () => {
          log.calls.push(['second_tool']);
          return 'from the second';
        },
      },
    },
  });
  sdk.useOracleEvents(({ eventName }) => log.events.push(eventName));
  return (
    <section id="second" data-connected={isRealTimeConnected}>
      {messages.map(({ text }) => text).join(' ')}
    </section>
  );
}

function About() {
  const { config, isReady, error } = sdk.useOraclesConfig(agentDid);
  const contract = sdk.useContractOracle();
  const memory = sdk.useMemoryEngine();
  const openId = sdk.useGetOpenIdToken();
  return (
    <aside>
      <p id="config">{isReady ? JSON.stringify(config) : error?.message}</p>
      <p id="contract" data-contracted={contract.isContracted}>
        {contract.status} {contract.error?.message}
        <button type="button" onClick={() => contract.contract().catch(() => {})}>
          Contract
        </button>
        <button
          type="button"
          onClick={() =>
            contract.pay(need('claims') ? need('claims').split(' ') : ['claim-1', 'claim-2']).catch(() => {})
          }
        >
          Pay
        </button>
      </p>
      <p id="memory">
        {memory.memories.map(({ text }) => text).join('; ')} {memory.error?.message}
        <button type="button" onClick={() => memory.addMemory('likes tea').catch(() => {})}>
          Remember
        </button>
      </p>
      <p id="open-id">{openId.openIdToken?.access_token ?? openId.error?.message}</p>
    </aside>
  );
}

function Call({ sessionId }: { sessionId: string }) {
  const call = useLiveAgent({
    sessionId,
    createWorker: () => new Worker(new URL('livekit-client/e2ee-worker', import.meta.url), { type: 'module' }),
  });
  return (
    <section id="call" data-status={call.status}>
      <p role="alert">{call.error?.message}</p>
      <button type="button" onClick={call.join}>
        Call
      </button>
      <button type="button" onClick={call.leave}>
        Hang up
      </button>
      <button type="button" onClick={() => call.setMicrophone(!call.isMicrophoneOn)}>
        Microphone {call.isMicrophoneOn ? 'on' : 'off'}
      </button>
      <button type="button" onClick={() => call.setCamera(!call.isCameraOn)}>
        Camera {call.isCameraOn ? 'on' : 'off'}
      </button>
      <button type="button" onClick={() => call.setScreenShare(!call.isScreenShared)}>
        Screen {call.isScreenShared ? 'shared' : 'not shared'}
      </button>
      <ul id="participants">
        {call.participants.map((participant) => (
          <li key={participant.identity} data-local={participant.isLocal} data-encrypted={participant.isEncrypted}>
            {participant.isLocal ? 'me' : participant.name}: {participant.isMicrophoneOn ? 'microphone ' : ''}
            {participant.isCameraOn ? 'camera ' : ''}
            {participant.isScreenShared ? 'screen ' : ''}
            {participant.isEncrypted ? 'encrypted' : ''}
            {participant.isCameraOn && <Video participant={participant} source="camera" />}
            {participant.isScreenShared && <Video participant={participant} source="screen" />}
          </li>
        ))}
      </ul>
      <ul id="transcript">
        {call.transcript.map(({ id, identity, text, isFinal }) => (
          <li key={id} data-final={isFinal}>
            {identity}: {text}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Video({ participant, source }: { participant: LiveParticipant; source: 'camera' | 'screen' }) {
  const video = useRef<HTMLVideoElement>(null);
  const { attachVideo } = participant;
  useEffect(() => (video.current ? attachVideo(video.current, source) : undefined), [attachVideo, source]);
  return <video ref={video} data-source={source} width={200} muted autoPlay playsInline />;
}

/** Shows what a hook outside of the provider throws. */
class Boundary extends Component<{ children: ReactNode }, { message?: string }> {
  override state: { message?: string } = {};
  static getDerivedStateFromError = (error: Error) => ({ message: error.message });
  override render() {
    return this.state.message ? <p id="outside">{this.state.message}</p> : this.props.children;
  }
}

function Outside() {
  sdk.useOracleSessions(agentDid);
  return null;
}

createRoot(document.body.appendChild(document.createElement('div'))).render(
  <StrictMode>
    <App />
    {need('outside') && (
      <Boundary>
        <Outside />
      </Boundary>
    )}
  </StrictMode>,
);
