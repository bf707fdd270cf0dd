import { createAgentApi } from './agent-api.ts';
import { createApprovals } from './approvals.ts';
import { openChatChannel } from './chat-channel.ts';
import type { Chat, ChatOptions, ChatSnapshot } from './chat-interface.ts';
import type { ChatParts } from './chat-parts.ts';
import { type ChatAction, initialChatState, reduceChat } from './chat-state.ts';
import { createTurnFollower } from './follow-turns.ts';
import { createReauthorizer } from './reauthorize.ts';
import { createMessageSender } from './send-messages.ts';
import type { SocketChannel } from './socket-channel.ts';
import { createStore } from './store.ts';
import { createHistorySync } from './sync-history.ts';
import { uploadFile } from './upload-files.ts';

/** One session of a user with an agent, as a page sees it. */
export function createChat(options: ChatOptions): Chat {
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
  const history = createHistorySync({
    api,
    sessionId,
    pageSize: () => options.pageSize,
    dispatch,
    signal,
    onLoaded: () => channel?.connect(),
    onLiveRun({ runId }, runSignal) {
      // While a send waits for its reply, the live run may well be its own.
      if (!sender.isWaiting() && !turns.isFollowed(runId)) turns.resume(runId, runSignal);
    },
  });
  const { sync, syncQuietly } = history;
  const parts: ChatParts = {
    options,
    api,
    get: store.get,
    dispatch,
    signal,
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
    subscribe(listener) {
      listener(store.get());
      return store.subscribe(listener);
    },
    send: sender.send,
    retry: sender.retry,
    regenerate: sender.regenerate,
    edit: sender.edit,
    answerApproval: approvals.answer,
    grant: reauthorizer.grant,
    start() {
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
    upload: (file, uploadOptions) => uploadFile(transport, file, uploadOptions),
    download: async (fileId) => (await transport.request(`/files/${encodeURIComponent(fileId)}`)).blob(),
    setMessages: (messages) => dispatch({ type: 'set', messages }),
    async abort() {
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
