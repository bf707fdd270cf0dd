import { type AgentApi, createAgentApi } from './agent-api.ts';
import { createApprovals } from './approvals.ts';
import type { Chat, ChatOptions, ChatSnapshot, SendOptions } from './chat-interface.ts';
import type { ChatMessage } from './chat-message.ts';
import { answerKey, type ChatAction, humanKey, initialChatState, reduceChat } from './chat-state.ts';
import { createEventBuffer } from './event-buffer.ts';
import { followRun } from './follow-run.ts';
import { OracleError, toClaimIds, toError, toStreamError } from './oracle-error.ts';
import { type Posting, postMessage } from './post-message.ts';
import { createRandomId } from './random-id.ts';
import { createReauthorizer } from './reauthorize.ts';
import { withRetries } from './retry-policy.ts';
import { runClientCall } from './run-client-call.ts';
import { openSocketChannel, type SocketChannel } from './socket-channel.ts';
import { createStore } from './store.ts';
import { createHistorySync } from './sync-history.ts';
import { isBlob, toShownFiles, uploadFile } from './upload-files.ts';
import type { SocketEvent, StreamEvent } from './wire.ts';

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
  /** Uploads under way, by local id. */
  const uploads = new Map<string, AbortController>();
  /** Sends the service has not answered yet. */
  const accepting = new Set<Promise<unknown>>();
  let life = new AbortController();
  let channel: SocketChannel | undefined;
  let lastSent: { text: string; extra: SendOptions } | undefined;

  const dispatch = (action: ChatAction) => {
    const { isRealTimeConnected, ...state } = store.get();
    store.set({ ...reduceChat(state, action), isRealTimeConnected });
  };

  const history = createHistorySync({
    api,
    sessionId,
    pageSize: () => options.pageSize,
    dispatch,
    signal: () => life.signal,
    onLoaded: () => channel?.connect(),
    onLiveRun({ runId }, signal) {
      // While a send waits for its reply, the live run may well be its own.
      if (accepting.size === 0 && !followed.has(runId)) resume(runId, signal);
    },
  });
  const { sync, syncQuietly } = history;

  async function send(text: string, extra: SendOptions = {}): Promise<void> {
    const { signal } = life;
    const requestId = createRandomId();
    const { replaces } = extra;
    lastSent = { text, extra };
    const createdAt = new Date().toISOString();
    dispatch({ type: 'sent', requestId, text, createdAt, attachments: toShownFiles(extra.attachments), replaces });
    const accepted = post({ requestId, text, extra }, signal);
    accepting.add(accepted);
    await report(requestId, signal, async () => {
      const response = await accepted.finally(() => accepting.delete(accepted));
      channel?.connect();
      const runId = response.headers.get('x-run-id') ?? undefined;
      if (runId) runIds.set(requestId, runId);
      await follow(requestId, { runId, response }, signal);
    });
  }

  async function post(sending: Pick<Posting, 'requestId' | 'text' | 'extra'>, signal: AbortSignal): Promise<Response> {
    const { requestId, extra } = sending;
    const upload = new AbortController();
    const leave = () => upload.abort(signal.reason);
    signal.addEventListener('abort', leave);
    if (extra.attachments?.some(isBlob)) uploads.set(requestId, upload);
    try {
      return await postMessage(options, {
        ...sending,
        socketId: channel?.socketId(),
        signal: upload.signal,
        onUpload: (share) => dispatch({ type: 'uploading', localId: requestId, share }),
        onUploaded: () => uploads.delete(requestId),
      });
    } finally {
      uploads.delete(requestId);
    }
  }

  /** The connection broke before the reply. The history shows whether the message arrived: it is never sent twice. */
  async function hasArrived(requestId: string, signal: AbortSignal): Promise<boolean> {
    const { messages } = await api.listMessages(sessionId, {}, signal);
    return messages.some((message) => message.requestId === requestId);
  }

  /** Sends a message in the place of a question, with the question's files unless others are given. */
  async function replace({ key, ...question }: ChatMessage, text: string, extra: SendOptions): Promise<void> {
    if (!question.storedId && question.isStored) await sync();
    const { storedId } = store.get().messages.find((message) => message.key === key) ?? question;
    if (!storedId) dispatch({ type: 'dropped', key });
    const known = question.content === lastSent?.text ? lastSent.extra : {};
    const { replaces: _, ...kept } = known;
    // What has been uploaded is not uploaded again.
    const areStored = question.attachments?.every(({ fileId, mxcUri, eventId }) => fileId ?? mxcUri ?? eventId);
    const isUploaded = areStored && kept.attachments?.some(isBlob);
    const attachments = isUploaded ? question.attachments : (kept.attachments ?? question.attachments);
    await send(text, {
      ...kept,
      ...(attachments && { attachments }),
      ...extra,
      ...(storedId && { replaces: storedId }),
    });
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
      const isReplacing = store.get().messages.some((message) => message.key === humanKey(localId) && message.replaces);
      dispatch({ type: 'failed', localId, error: toError(error) });
      if (!stopped.has(localId)) options.onError?.(toError(error));
      askForPayment(error);
      // What it was to replace is still there.
      if (isReplacing) syncQuietly();
    } finally {
      // What was written meanwhile is in the history.
      if (stopped.delete(localId) && !signal.aborted) await sync().catch(() => {});
    }
  }

  /** Nothing leaves the page, and the turn is not over, until the history shows its end or that it is still running. */
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

  function resume(runId: string, signal: AbortSignal): void {
    dispatch({ type: 'resumed', runId });
    // Another turn may be waiting behind it.
    void report(runId, signal, () => follow(runId, { runId }, signal)).then(syncQuietly);
  }

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
    if (eventName === 'browser_tool_call' || eventName === 'action_call') {
      const show = (shown: StreamEvent) => dispatch({ type: 'heard', event: shown });
      void runClientCall(event, { options, show, emit: (name, payload) => channel?.emit(name, payload) });
    }
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
      history.reset();
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
    async regenerate(messageId) {
      const { messages } = store.get();
      const at = messageId === undefined ? messages.length : messages.findIndex(({ id }) => id === messageId) + 1;
      const question = messages.slice(0, at).findLast(({ type }) => type === 'human');
      if (question) await replace(question, question.content, {});
    },
    async edit(messageId, text, extra = {}) {
      const question = store.get().messages.find(({ id, type }) => id === messageId && type === 'human');
      if (!question) throw new OracleError('There is no such question.', { code: 'MESSAGE_NOT_FOUND', status: 404 });
      await replace(question, text, extra);
    },
    upload: (file, uploadOptions) => uploadFile(transport, file, uploadOptions),
    setMessages: (messages) => dispatch({ type: 'set', messages }),
    async abort() {
      const { signal } = life;
      const { runs } = store.get();
      const run = runs.find(({ phase }) => phase === 'streaming') ?? runs.find(({ phase }) => phase === 'submitted');
      if (run) {
        stopped.add(run.localId);
        dispatch({ type: 'stopped', localId: run.localId });
      }
      const upload = run && uploads.get(run.localId);
      if (upload) return upload.abort(new OracleError('The upload was stopped.', { code: 'ABORTED' }));
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
