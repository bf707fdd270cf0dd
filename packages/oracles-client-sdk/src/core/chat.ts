import { createAgentApi, type LiveRun } from './agent-api.ts';
import { createApprovals, createReauthorizer } from './approvals.ts';
import type { ChatOptions, ChatParts, ChatSnapshot } from './chat-interface.ts';
import type { ChatMessage } from './chat-message.ts';
import { type ChatAction, initialChatState, reduceChat } from './chat-state.ts';
import { runBrowserTool, runClientAction } from './client-tools.ts';
import { createTurnFollower } from './follow-turns.ts';
import { toError } from './oracle-error.ts';
import { withRetries } from './retry-policy.ts';
import { createMessageSender } from './send-messages.ts';
import type { SocketChannel } from './socket-channel.ts';
import { createStore } from './store.ts';
import { type UploadOptions, uploadFile } from './upload-files.ts';
import type { CallOutcome, ClientCallEvent, SocketEvent, StreamEvent } from './wire.ts';

export type Chat = ReturnType<typeof createChat>;

/** One session of a user with an agent, as a page sees it. */
export function createChat(options: ChatOptions) {
  const { transport, sessionId } = options;
  const api = createAgentApi(transport);
  const store = createStore<ChatSnapshot>({ ...initialChatState, isRealTimeConnected: false });
  const reauthorizer = createReauthorizer(transport, api);
  const approvals = createApprovals(transport, api, reauthorizer.grant);
  let life = new AbortController();
  let channel: SocketChannel | undefined;
  const signal = () => life.signal;

  const dispatch = (action: ChatAction) => {
    const { isRealTimeConnected, ...state } = store.get();
    store.set({ ...reduceChat(state, action), isRealTimeConnected });
  };
  const base = { options, api, get: store.get, dispatch, signal };
  const history = createHistorySync({
    ...base,
    onLoaded: () => channel?.connect(),
    onLiveRun({ runId }, runSignal) {
      // While a send waits for its reply, the live run may well be its own.
      if (!sender.isWaiting() && !turns.isFollowed(runId)) turns.resume(runId, runSignal);
    },
  });
  const { sync, syncQuietly } = history;
  const parts: ChatParts = {
    ...base,
    sync,
    syncQuietly,
    take(event) {
      reauthorizer.take(event);
      approvals.add(event);
    },
  };
  const turns = createTurnFollower(parts);
  const sender = createMessageSender({ ...parts, turns, channel: () => channel });

  return {
    get: store.get,
    /** Calls back with the state, now and after every change; returns the way to stop. A store of Svelte, too. */
    subscribe(listener: (state: ChatSnapshot) => void): () => void {
      listener(store.get());
      return store.subscribe(listener);
    },
    /** Resolves when the answer is complete. A failure, or an answer that has to be resumed, is in the state. */
    send: sender.send,
    retry: sender.retry,
    /** Asks for another answer to a question: to that of this message, or to the last one. */
    regenerate: sender.regenerate,
    /** Sends other words in place of a question; what came after it leaves the conversation. */
    edit: sender.edit,
    /** Answers an approval of a message: the tool runs, or the agent reads the reason why not. */
    answerApproval: approvals.answer,
    /** Signs a delegation of one capability and stores it at the agent. Ask the user first. */
    grant: reauthorizer.grant,
    /** Loads the history, resumes a turn that is under way and opens the event channel; returns the way to stop. */
    start(): () => void {
      const here = new AbortController();
      life = here;
      history.reset();
      turns.reset();
      dispatch({ type: 'loading' });
      syncQuietly();
      if (options.socketUrl) {
        const onConnected = (isRealTimeConnected: boolean) => store.set({ ...store.get(), isRealTimeConnected });
        channel = openChatChannel(parts, { url: options.socketUrl, isStreamed: turns.isStreamed, onConnected });
      }
      return () => {
        here.abort(new Error('the chat was closed'));
        channel?.close();
        channel = undefined;
        dispatch({ type: 'detached' });
      };
    },
    upload: (file: Blob, uploadOptions?: UploadOptions) => uploadFile(transport, file, uploadOptions),
    download: async (fileId: string) => (await transport.request(`/files/${encodeURIComponent(fileId)}`)).blob(),
    /** Changes what this page shows, and nothing at the service: the next load of the history joins both. */
    setMessages: (messages: readonly ChatMessage[]) => dispatch({ type: 'set', messages }),
    /** Stops the answer on this page at once, then at the service. Never rejects. */
    async abort(): Promise<void> {
      const { runs } = store.get();
      const run = runs.find(({ phase }) => phase === 'streaming') ?? runs.find(({ phase }) => phase === 'submitted');
      if (run) turns.stopHere(run.localId);
      if (run && sender.cancelUpload(run.localId)) return;
      await sender.whenAccepted();
      await turns.stopThere(run?.localId);
    },
    async refetch() {
      await sync();
      return store.get().messages;
    },
    async loadOlder() {
      const { olderCursor: before } = store.get();
      if (before === null) return;
      const page = await api.listMessages(sessionId, { before, ...(options.pageSize && { limit: options.pageSize }) });
      dispatch({ type: 'loaded', page, older: true });
    },
  };
}

function openChatChannel(
  { options, dispatch, syncQuietly, take }: ChatParts,
  parts: { url: string; isStreamed(requestId: string): boolean; onConnected(isConnected: boolean): void },
): SocketChannel {
  const { transport, sessionId } = options;
  let connections = 0;

  function onEvent(event: SocketEvent): void {
    const { eventName } = event;
    const isCall = eventName === 'browser_tool_call' || eventName === 'action_call';
    const { requestId = '' } = event.payload as { requestId?: string };
    if (isCall || !parts.isStreamed(requestId)) options.onEvent?.(event);
    take(event);
    const show = (shown: StreamEvent) => dispatch({ type: 'received', event: shown });
    if (eventName === 'message_cache_invalidation') syncQuietly();
    if (eventName === 'tool_call' || eventName === 'render_component' || eventName === 'approval_request') show(event);
    if (eventName === 'browser_tool_call' || eventName === 'action_call') {
      void runClientCall(event, { options, show, emit: (name, payload) => channel.emit(name, payload) });
    }
  }

  const channel = transport.openSocket({
    url: parts.url,
    sessionId,
    transport,
    onEvent,
    onConnected(isConnected) {
      parts.onConnected(isConnected);
      // Events sent while the socket was disconnected are lost.
      if (isConnected && connections++ > 0) syncQuietly();
    },
  });
  return channel;
}

/** Runs a call on this page. How it goes is shown at once; the service says the same in its stream. */
async function runClientCall(
  { eventName, payload: call }: ClientCallEvent,
  { options, show, emit }: { options: ChatOptions; show(event: StreamEvent): void; emit: SocketChannel['emit'] },
): Promise<void> {
  const { toolCallId } = call;
  const isTool = eventName === 'browser_tool_call';
  const tools = options.clientTools?.() ?? {};
  const showOutcome = (outcome: CallOutcome) => show({ eventName, payload: { ...call, ...outcome } });
  showOutcome({ status: 'isRunning' });
  options.onClientCall?.(toolCallId, true);
  const outcome = await (isTool ? runBrowserTool(tools, call) : runClientAction(tools, call));
  const { result, error } = outcome;
  showOutcome(error === undefined ? { status: 'done', output: result } : { status: 'error', error });
  options.onClientCall?.(toolCallId, false);
  emit(isTool ? 'tool_result' : 'action_call_result', { sessionId: options.sessionId, toolCallId, ...outcome });
}

interface SyncParts extends Pick<ChatParts, 'options' | 'api' | 'dispatch' | 'signal'> {
  onLoaded(): void;
  onLiveRun(run: LiveRun, signal: AbortSignal): void;
}

/** The history, and the turn that is under way. Calls meanwhile make it one more round. */
function createHistorySync({ options, api, dispatch, ...parts }: SyncParts) {
  const { sessionId } = options;
  let syncing: Promise<void> | undefined;
  let isStale = false;
  /** The life of the chat in which `syncQuietly` is under way. */
  let retrying: AbortSignal | undefined;

  async function load(signal: AbortSignal): Promise<void> {
    try {
      const { pageSize: limit } = options;
      const page = await api.listMessages(sessionId, limit ? { limit } : {}, signal);
      dispatch({ type: 'loaded', page, older: false });
    } catch (error) {
      if (!signal.aborted) dispatch({ type: 'loadFailed', error: toError(error) });
      throw error;
    }
  }

  async function syncWhileStale(signal: AbortSignal): Promise<void> {
    try {
      while (isStale && !signal.aborted) {
        isStale = false;
        await load(signal);
        parts.onLoaded();
        const run = await api.findLiveRun(sessionId, signal);
        if (run) parts.onLiveRun(run, signal);
      }
    } finally {
      if (signal === parts.signal()) syncing = undefined;
    }
  }

  function sync(): Promise<void> {
    isStale = true;
    syncing ??= syncWhileStale(parts.signal());
    return syncing;
  }

  return {
    sync,
    /** Asks again while the agent is unreachable; what it answers at last is in the state. */
    syncQuietly() {
      const signal = parts.signal();
      if (signal.aborted) return;
      if (retrying === signal) return void sync().catch(() => {});
      retrying = signal;
      withRetries(sync, signal, Number.POSITIVE_INFINITY)
        .catch(() => {})
        .finally(() => {
          if (retrying === signal) retrying = undefined;
        });
    },
    /** The chat is opened again: what was asked for before it was closed does not count. */
    reset() {
      syncing = undefined;
    },
  };
}
