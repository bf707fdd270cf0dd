// An application written for `@ixo/oracles-client-sdk` 1.4.0, from its README and its types. Only the import is another.
import {
  type AgActionConfig,
  type AnyEvent,
  type Attachment,
  type ChatRunState,
  type ChatStatus,
  type CreateDelegationFn,
  type CreateInvocationFn,
  type IBrowserTools,
  type IChatOptions,
  type IChatSession,
  type IComponentMetadata,
  IDLE_RUN_STATE,
  type IMessage,
  type IOraclesProviderProps,
  type IWalletProps,
  type MessageContent,
  OraclesProvider,
  renderMessageContent,
  type StreamingMode,
  type ToolCallEvent,
  type UIComponentProps,
  useAgAction,
  useChat,
  useContractOracle,
  useGetOpenIdToken,
  useMemoryEngine,
  useModels,
  useOracleSessions,
  useOraclesConfig,
  useOraclesContext,
} from '@palaver/oracles-client-sdk';
import { type FormEvent, useEffect, useState } from 'react';
import { z } from 'zod';

interface AppProps {
  oracleDid: string;
  wallet: IWalletProps;
  createDelegation: CreateDelegationFn;
  createInvocation: CreateInvocationFn;
  baseUrl: string;
  onPaymentRequiredError: (claimIds: string[]) => void;
  /** For the test: keys that React made a component of. */
  onMount: (id: string) => void;
}

export function App({ wallet, createDelegation, createInvocation, ...rest }: AppProps) {
  const props: IOraclesProviderProps = {
    initialWallet: wallet,
    transactSignX: async () => undefined,
    createDelegation,
    createInvocation,
  };
  return (
    <OraclesProvider {...props}>
      <ChatInterface {...rest} />
    </OraclesProvider>
  );
}

const uiComponents = {
  ToolCall: ({ id, toolName, status, isLoading, output }: UIComponentProps<ToolCallEvent>) => (
    <section id={id} data-tool={toolName} data-status={status}>
      {toolName} {isLoading ? 'is working' : 'is done'} {String(output ?? '')}
    </section>
  ),
  Error: ({ output }: { id: string; args: Record<string, unknown>; output?: string }) => <p role="alert">{output}</p>,
  WeatherWidget: (props: { city: string; temperature: number }) => (
    <div className="weather">
      <h3>Weather in {props.city}</h3>
      <p>{props.temperature}°C</p>
    </div>
  ),
};

const browserTools: IBrowserTools = {
  get_title: {
    toolName: 'get_title',
    description: 'The title of the page.',
    schema: z.object({}),
    fn: async () => document.title,
  },
};

const mode: StreamingMode = 'throttled';

function ChatInterface({
  oracleDid,
  baseUrl,
  onPaymentRequiredError,
  onMount,
}: Omit<AppProps, 'wallet' | 'createDelegation' | 'createInvocation'>) {
  const { createSession, sessions, isLoading, isCreatingSession, fetchNextPage, hasNextPage, total, isConfigReady } =
    useOracleSessions(oracleDid, { baseUrl, limit: 10 });
  const { models, defaultModelId } = useModels(oracleDid, { baseUrl });
  const [model, setModel] = useState<string | undefined>(defaultModelId);
  const sessionId = sessions?.[0]?.sessionId;
  const options: IChatOptions = {
    oracleDid,
    sessionId: sessionId || '',
    onPaymentRequiredError,
    uiComponents,
    browserTools,
    overrides: { baseUrl },
    streamingMode: mode,
    streamingThrottleMs: 20,
    historyPageSize: 10,
    ...(model && { model }),
  };
  const chat = useChat(options);
  const { messages, sendMessage, isSending, abortStream, status, run, hasEarlier, loadEarlier, isLoadingEarlier } =
    chat;
  const chatStatus: ChatStatus | undefined = status;
  const runState: ChatRunState = run ?? IDLE_RUN_STATE;

  useAgAction({
    name: 'create_data_table',
    description: 'Create a data table with structured data',
    parameters: z.object({ title: z.string().optional(), rows: z.array(z.any()) }),
    handler: async ({ rows }) => ({ success: true, rowCount: rows.length }),
    render: ({ status, args, isLoading }) => {
      if (status === 'isRunning' || isLoading) return <p>Drawing</p>;
      return status === 'done' && args?.rows ? <table title={args.title} data-rows={args.rows.length} /> : null;
    },
  } satisfies AgActionConfig<z.ZodObject<{ title: z.ZodOptional<z.ZodString>; rows: z.ZodArray<z.ZodAny> }>>);

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const input = event.currentTarget.message;
    const metadata = { spaceId: 'space-1' };
    const attachments: Attachment[] = [];
    void sendMessage(input.value, metadata, attachments);
    input.value = '';
  };

  return (
    <div className="chat-container" data-status={chatStatus} data-ended={runState.ended} data-ready={isConfigReady}>
      <button type="button" disabled={isCreatingSession || isLoading} onClick={() => createSession()}>
        New Chat
      </button>
      {hasNextPage && (
        <button type="button" onClick={() => fetchNextPage()}>
          More of {total}
        </button>
      )}
      {hasEarlier && (
        <button type="button" disabled={isLoadingEarlier} onClick={() => loadEarlier()}>
          Earlier
        </button>
      )}
      <select value={model} onChange={(event) => setModel(event.target.value)}>
        {models.map(({ id, label, costLabel }) => (
          <option key={id} value={id}>
            {label} {costLabel}
          </option>
        ))}
      </select>
      <div className="messages">
        {messages.map((msg) => (
          <Message key={msg.id} msg={msg} onMount={onMount} />
        ))}
      </div>
      <form onSubmit={submit}>
        <input name="message" placeholder="Ask anything..." aria-label="Message" />
        <button type="submit" disabled={isSending}>
          {isSending ? 'Sending...' : 'Send'}
        </button>
        <button type="button" onClick={() => abortStream()}>
          Stop
        </button>
        <button type="button" onClick={() => chat.refetchMessages()}>
          Refetch
        </button>
      </form>
      <Others oracleDid={oracleDid} first={sessions[0]} />
    </div>
  );
}

function Message({ msg, onMount }: { msg: IMessage; onMount: (id: string) => void }) {
  useEffect(() => onMount(msg.id), [msg.id, onMount]);
  return (
    <div className={msg.type} data-complete={msg.isComplete} data-kind={kindOf(msg.content)}>
      {msg.reasoning && <details>{msg.reasoning}</details>}
      {renderMessageContent(msg.content, uiComponents)}
    </div>
  );
}

function kindOf(content: MessageContent): string {
  if (typeof content === 'string') return 'text';
  if (!Array.isArray(content)) return content.name;
  return content.map((part: string | IComponentMetadata) => (typeof part === 'string' ? 'text' : part.name)).join(' ');
}

function Others({ oracleDid, first }: { oracleDid: string; first: IChatSession | undefined }) {
  const { wallet, getInvocation, authedRequest } = useOraclesContext();
  const { config, isReady } = useOraclesConfig(oracleDid);
  const { contractOracle, isContractingOracle, payClaim, isPayingClaim, pricingList } = useContractOracle({
    params: { oracleDid, userClaimCollectionId: '1', adminAddress: 'ixo1admin', claimId: 'claim-1' },
  });
  const { enableMemoryEngine, members, oracleRoomId } = useMemoryEngine(oracleDid);
  const { openIdToken, refetch } = useGetOpenIdToken();
  const nameOf = (event: AnyEvent) => (event.eventName === 'tool_call' ? event.payload.toolName : event.eventName);
  return (
    <aside data-ready={isReady} title={first?.title}>
      {wallet?.did} {config.apiUrl} {config.socketUrl} {oracleRoomId} {members?.length} {openIdToken?.access_token}
      {pricingList?.map(({ title, amount, denom }) => (
        <p key={title}>
          {amount} {denom}
        </p>
      ))}
      <button type="button" disabled={isContractingOracle} onClick={() => contractOracle({ useAuthz: true })}>
        Contract
      </button>
      <button type="button" disabled={isPayingClaim} onClick={() => payClaim()}>
        Pay
      </button>
      <button type="button" onClick={() => enableMemoryEngine(oracleRoomId ?? '')}>
        Memory
      </button>
      <button
        type="button"
        onClick={async () => {
          await refetch();
          await getInvocation(oracleDid);
          await authedRequest<{ sessions: IChatSession[] }>(`${config.apiUrl}/sessions`, 'GET', {}, oracleDid);
        }}
      >
        {typeof nameOf}
      </button>
    </aside>
  );
}
