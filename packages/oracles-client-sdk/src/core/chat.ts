import { type AgentApi, createAgentApi } from './agent-api.ts';
import { createApprovals } from './approvals.ts';
import type { Chat, ChatOptions, ChatSnapshot, SendOptions } from './chat-interface.ts';
import { answerKey, type ChatAction, initialChatState, reduceChat } from './chat-state.ts';
import { declareClientTools, runBrowserTool, runClientAction } from './client-tools.ts';
import { createEventBuffer } from './event-buffer.ts';
import { followRun } from './follow-run.ts';
import { isOffline } from './is-offline.ts';
import { OracleError, toClaimIds, toError, toStreamError } from './oracle-error.ts';
import { createRandomId } from './random-id.ts';
import { createReauthorizer } from './reauthorize.ts';
import { withRetries } from './retry-policy.ts';
import { openSocketChannel, type SocketChannel } from './socket-channel.ts';
import { createStore } from './store.ts';
import type { CallOutcome, ClientCallEvent, SocketEvent, StreamEvent } from './wire.ts';

/** How long a stop is repeated that did not reach the service. */
const stopForMs = 2 * 60_000;

/** One session of a user with an agent, as a page sees it. */
export function createChat(options: ChatOptions): Chat {
  const { transport, sessionId } = options;
  const api: AgentApi = createAgentApi(transport);
  const store = createStore<ChatSnapshot>({ ...initialChatState, isRealTimeConnected: false });
  const reauthorize = createReauthorizer(transport, api);
  const approvals = createApprovals(api);
  const followed = new Set<string>();
  /** Request ids of the runs followed here: their events come by stream. */
  const streamed = new Set<string>();
  /** Run ids by local id. */
  const runIds = new Map<string, string>();
  /** Local ids of the turns that the user has stopped here. */
  const stopped = new Set<string>();
  /** Sends the service has not answered yet. */
  const accepting = new Set<Promise<unknown>>();
  let life = new AbortController();
  let channel: SocketChannel | undefined;
  let syncing: Promise<void> | undefined;
  let isStale = false;
  let lastSent: { text: string; extra: SendOptions } | undefined;

  const dispatch = (action: ChatAction) => {
    const { isRealTimeConnected, ...state } = store.get();
    store.set({ ...reduceChat(state, action), isRealTimeConnected });
  };

  async function send(text: string, extra: SendOptions = {}): Promise<void> {
    const { signal } = life;
    const requestId = createRandomId();
    lastSent = { text, extra };
    const createdAt = new Date().toISOString();
    dispatch({ type: 'sent', requestId, text, createdAt, attachments: extra.attachments });
    const accepted = submit(requestId, { ...extra, message: text, stream: true }, signal);
    accepting.add(accepted);
    await report(requestId, signal, async () => {
      const response = await accepted.finally(() => accepting.delete(accepted));
      channel?.connect();
      const runId = response.headers.get('x-run-id') ?? undefined;
      if (runId) runIds.set(requestId, runId);
      await follow(requestId, { runId, response }, signal);
    });
  }

  async function submit(requestId: string, message: Record<string, unknown>, signal: AbortSignal): Promise<Response> {
    if (isOffline()) throw new OracleError('This device is offline.', { code: 'OFFLINE', retryable: true });
    const { accessToken, homeServer } = options.matrix ?? {};
    // Only a service that has named it takes the header: others may refuse it in a browser's preflight.
    const socketId = channel?.socketId();
    const declared = declareClientTools(options.clientTools?.() ?? {});
    const body = { ...message, ...declared, ...(homeServer && { homeServer }) };
    const headers = {
      'x-request-id': requestId,
      ...(socketId && { 'x-socket-id': socketId }),
      ...(accessToken && { 'x-matrix-access-token': accessToken }),
      ...(homeServer && { 'x-matrix-homeserver': homeServer }),
    };
    return transport.request(`/messages/${encodeURIComponent(sessionId)}`, { method: 'POST', body, headers, signal });
  }

  /** The connection broke before the reply. Whether the message arrived is told by the history: it is never sent twice. */
  async function hasArrived(requestId: string, signal: AbortSignal): Promise<boolean> {
    const { messages } = await api.listMessages(sessionId, {}, signal);
    return messages.some((message) => message.requestId === requestId);
  }

  async function follow(
    localId: string,
    { runId, response }: { runId: string | undefined; response?: Response },
    signal: AbortSignal,
  ): Promise<void> {
    if (runId) followed.add(runId);
    const buffering = { mode: options.streamingMode ?? 'immediate', throttleMs: options.streamingThrottleMs };
    const buffer = createEventBuffer<StreamEvent>(buffering, (events) => {
      if (!signal.aborted) dispatch({ type: 'streamed', localId, events });
    });
    const onEvent = (event: StreamEvent) => {
      if (event.eventName === 'run') {
        followed.add(event.payload.runId);
        streamed.add(event.payload.requestId);
        runIds.set(localId, event.payload.runId);
      }
      buffer.add(event);
      reauthorize(event);
      approvals.add(event);
      if (event.eventName === 'error') askForPayment(toStreamError(event.payload));
      options.onEvent?.(event);
    };
    try {
      await followRun({ transport, runId, response, signal, onEvent });
    } finally {
      buffer.flush();
    }
    if (!signal.aborted) finish(localId);
  }

  function finish(localId: string): void {
    const { sendError, messages } = store.get();
    const answer = messages.find(({ key }) => key === answerKey(localId));
    if (answer?.status !== 'failed') {
      if (answer) options.onFinish?.(answer);
    } else if (sendError) options.onError?.(sendError);
  }

  /** Failures of a turn end in the state, not at the caller; a page that has gone does not care. */
  async function report(localId: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (signal.aborted) return;
      if (await isStoredAnyway(error, localId, signal)) return takeFromHistory(localId);
      if (signal.aborted) return;
      dispatch({ type: 'failed', localId, error: toError(error) });
      options.onError?.(toError(error));
      askForPayment(error);
    } finally {
      // What was written meanwhile is in the history.
      if (stopped.delete(localId) && !signal.aborted) await sync().catch(() => {});
    }
  }

  /** Nothing leaves the page, and the turn is not over, until the history has told how it went or goes on. */
  async function takeFromHistory(localId: string): Promise<void> {
    dispatch({ type: 'broken', localId });
    await sync().catch(() => {});
    dispatch({ type: 'settled', localId });
  }

  function askForPayment(error: unknown): void {
    const claimIds = toClaimIds(error);
    if (claimIds) options.onPaymentRequired?.(claimIds);
  }

  /** Whether the history, and not this failure, tells how the turn went. */
  async function isStoredAnyway(error: unknown, localId: string, signal: AbortSignal): Promise<boolean> {
    if (!(error instanceof OracleError)) return false;
    if (error.code === 'RUN_NOT_FOUND') return true;
    return error.code === 'NETWORK_ERROR' && (await hasArrived(localId, signal).catch(() => false));
  }

  async function load(signal: AbortSignal): Promise<void> {
    try {
      const limit = options.pageSize;
      dispatch({
        type: 'loaded',
        page: await api.listMessages(sessionId, limit ? { limit } : {}, signal),
        older: false,
      });
    } catch (error) {
      if (!signal.aborted) dispatch({ type: 'loadFailed', error: toError(error) });
      throw error;
    }
  }

  /** The history, and the turn that is under way if it is not followed here yet. Calls meanwhile make it one more round. */
  function sync(): Promise<void> {
    isStale = true;
    syncing ??= syncWhileStale(life.signal);
    return syncing;
  }

  async function syncWhileStale(signal: AbortSignal): Promise<void> {
    try {
      while (isStale && !signal.aborted) {
        isStale = false;
        await load(signal);
        channel?.connect();
        const run = await api.findLiveRun(sessionId, signal);
        // While a send waits for its reply, the live run may well be its own.
        if (run && accepting.size === 0 && !followed.has(run.runId)) resume(run.runId, signal);
      }
    } finally {
      if (signal === life.signal) syncing = undefined;
    }
  }

  function resume(runId: string, signal: AbortSignal): void {
    dispatch({ type: 'resumed', runId });
    // Another turn may be waiting behind it.
    void report(runId, signal, () => follow(runId, { runId }, signal)).then(syncQuietly);
  }

  const syncQuietly = () => {
    if (!life.signal.aborted) sync().catch(() => {});
  };

  function onSocketEvent(event: SocketEvent): void {
    const { requestId } = event.payload as { requestId?: string };
    const isRepeat =
      event.eventName !== 'browser_tool_call' && event.eventName !== 'action_call' && streamed.has(requestId ?? '');
    if (!isRepeat) options.onEvent?.(event);
    reauthorize(event);
    approvals.add(event);
    const { eventName } = event;
    if (eventName === 'message_cache_invalidation') syncQuietly();
    if (eventName === 'tool_call' || eventName === 'render_component' || eventName === 'approval_request') {
      dispatch({ type: 'heard', event });
    }
    if (eventName === 'browser_tool_call' || eventName === 'action_call') void answer(event);
  }

  /** Runs a call on this page. How it goes is shown at once; the service says the same in its stream. */
  async function answer({ eventName, payload: call }: ClientCallEvent): Promise<void> {
    const { toolCallId } = call;
    const isTool = eventName === 'browser_tool_call';
    const tools = options.clientTools?.() ?? {};
    const show = (outcome: CallOutcome) =>
      dispatch({ type: 'heard', event: { eventName, payload: { ...call, ...outcome } } });
    show({ status: 'isRunning' });
    options.onClientCall?.(toolCallId, true);
    const outcome = await (isTool ? runBrowserTool(tools, call) : runClientAction(tools, call));
    const { result, error } = outcome;
    show(error === undefined ? { status: 'done', output: result } : { status: 'error', error });
    options.onClientCall?.(toolCallId, false);
    channel?.emit(isTool ? 'tool_result' : 'action_call_result', { sessionId, toolCallId, ...outcome });
  }

  function connect(url: string): void {
    let connections = 0;
    channel = openSocketChannel({
      url,
      sessionId,
      transport,
      onEvent: onSocketEvent,
      onConnected(isRealTimeConnected) {
        store.set({ ...store.get(), isRealTimeConnected });
        // What happened while it was away was not heard.
        if (isRealTimeConnected && connections++ > 0) syncQuietly();
      },
    });
  }

  return {
    get: store.get,
    subscribe: store.subscribe,
    send,
    answerApproval: approvals.answer,
    start() {
      const here = new AbortController();
      life = here;
      syncing = undefined;
      followed.clear();
      dispatch({ type: 'loading' });
      syncQuietly();
      if (options.socketUrl) connect(options.socketUrl);
      return () => {
        here.abort(new Error('the chat was closed'));
        channel?.close();
        channel = undefined;
        dispatch({ type: 'detached' });
      };
    },
    async retry() {
      const failed = store.get().messages.findLast(({ type }) => type === 'human');
      if (!failed || !store.get().sendError) return;
      // Sent once already, perhaps: only the history can say, and while it cannot be read nothing is sent.
      const { sendError } = store.get();
      if (sendError instanceof OracleError && sendError.code === 'NETWORK_ERROR') {
        const arrived = await hasArrived(failed.requestId, life.signal).catch(() => undefined);
        if (arrived !== false) return arrived ? sync().catch(() => {}) : undefined;
      }
      if (!failed.isStored && failed.status === 'failed') dispatch({ type: 'dropped', key: failed.key });
      // With what went along with it.
      await send(failed.content, failed.content === lastSent?.text ? lastSent.extra : {});
    },
    async abort() {
      const { signal } = life;
      const { runs } = store.get();
      const run = runs.find(({ phase }) => phase === 'streaming') ?? runs.find(({ phase }) => phase === 'submitted');
      if (run) {
        stopped.add(run.localId);
        dispatch({ type: 'stopped', localId: run.localId });
      }
      // The service can only stop what has reached it.
      await Promise.allSettled(accepting);
      const runId = run && (runIds.get(run.localId) ?? run.localId);
      const isKnown = run !== undefined && followed.has(runId ?? '');
      const stop = () => api.abort(sessionId, isKnown ? runId : undefined);
      // By its id a run is stopped later just as well; without one, a later run could be meant.
      await stop().catch(() => void (isKnown && withRetries(stop, signal, stopForMs).catch(() => {})));
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
