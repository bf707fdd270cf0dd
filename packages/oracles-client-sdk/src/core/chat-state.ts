import { applyEvent, type ChatMessage, type History, indexAfterQuestion, mergeHistory } from './chat-message.ts';
import { OracleError, toStreamError } from './oracle-error.ts';
import type { Attachment, MessagePage, StreamEvent, StreamEventData } from './wire.ts';

export type ChatStatus = 'submitted' | 'streaming' | 'ready' | 'error';

export interface ChatRun {
  /** The request id of a send, or the run id of a resumed run. */
  localId: string;
  /** `stopped`: by the user, and its end at the service is awaited. */
  phase: 'submitted' | 'streaming' | 'stopped';
}

export interface ChatState extends History {
  readonly runs: readonly ChatRun[];
  readonly isLoading: boolean;
  readonly loadError: OracleError | undefined;
  readonly sendError: OracleError | undefined;
}

export type ChatAction =
  | {
      type: 'sent';
      requestId: string;
      messageId: string;
      text: string;
      createdAt: string;
      attachments?: Attachment[] | undefined;
      replaces?: string | undefined;
    }
  | { type: 'uploading'; localId: string; share: number }
  | { type: 'set'; messages: readonly ChatMessage[] }
  | { type: 'resumed'; runId: string }
  | { type: 'streamed'; localId: string; events: readonly StreamEvent[] }
  | { type: 'stopped'; localId: string }
  | { type: 'failed'; localId: string; error: OracleError }
  | { type: 'received'; event: StreamEvent }
  | { type: 'broken'; localId: string }
  | { type: 'settled'; localId: string }
  | { type: 'detached' }
  | { type: 'loading' }
  | { type: 'loaded'; page: MessagePage; older: boolean }
  | { type: 'loadFailed'; error: OracleError }
  | { type: 'dropped'; key: string };

export const initialChatState: ChatState = {
  messages: [],
  runs: [],
  isLoading: true,
  loadError: undefined,
  sendError: undefined,
  olderCursor: null,
};

/** `error` lasts until the next send. With several turns on their way, the one that has come furthest counts. */
export function toChatStatus({ runs, sendError }: Pick<ChatState, 'runs' | 'sendError'>): ChatStatus {
  if (runs.some(({ phase }) => phase === 'streaming')) return 'streaming';
  if (runs.some(({ phase }) => phase === 'submitted')) return 'submitted';
  return sendError ? 'error' : 'ready';
}

export const humanKey = (localId: string) => `${localId} human`;
export const answerKey = (localId: string) => `${localId} ai`;

export function reduceChat(state: ChatState, action: ChatAction): ChatState {
  switch (action.type) {
    case 'sent': {
      const { requestId, messageId: id, text: content, createdAt, attachments, replaces } = action;
      const kept = withoutReplaced(state, replaces);
      const local = { key: humanKey(requestId), id, isStored: false } as const;
      const question: ChatMessage = {
        ...local,
        type: 'human',
        content,
        createdAt,
        status: 'sending',
        requestId,
        attachments,
        replaces,
        earlier: earlierAnswers(state, action),
      };
      const run: ChatRun = { localId: requestId, phase: 'submitted' };
      return { ...state, sendError: undefined, messages: [...kept.messages, question], runs: [...kept.runs, run] };
    }
    case 'uploading': {
      const uploadProgress = action.share < 1 ? action.share : undefined;
      return { ...state, messages: changeMessage(state, humanKey(action.localId), { uploadProgress }) };
    }
    case 'set':
      return { ...state, messages: action.messages };
    case 'resumed':
      return { ...state, runs: [...state.runs, { localId: action.runId, phase: 'submitted' }] };
    case 'streamed':
      return action.events.reduce((next, event) => stream(next, action.localId, event), state);
    case 'stopped':
      return stop(state, action.localId);
    case 'failed':
      return fail(state, action.localId, action.error);
    case 'received':
      return applySocketEvent(state, action.event);
    case 'broken':
      // What was read stays until the history is loaded.
      return { ...state, messages: changeMessage(state, answerKey(action.localId), { status: 'failed' }) };
    case 'settled':
      return { ...state, runs: state.runs.filter(({ localId }) => localId !== action.localId) };
    case 'detached': {
      // What still runs at the service is read again from its first frame, or found in the history.
      const keys = new Set(state.runs.flatMap(({ localId }) => [humanKey(localId), answerKey(localId)]));
      return { ...state, messages: state.messages.filter(({ key }) => !keys.has(key)), runs: [] };
    }
    case 'loading':
      return { ...state, isLoading: true };
    case 'loaded': {
      const merged = mergeHistory(state, action);
      return {
        ...state,
        ...merged,
        sendError: keepSendError(state.sendError, merged),
        isLoading: false,
        loadError: undefined,
      };
    }
    case 'loadFailed':
      return { ...state, isLoading: false, loadError: action.error };
    case 'dropped':
      return { ...state, messages: state.messages.filter(({ key }) => key !== action.key) };
  }
}

function earlierAnswers(
  { messages }: ChatState,
  { replaces, text }: ChatAction & { type: 'sent' },
): ChatMessage['earlier'] {
  const at = messages.findIndex(({ storedId }) => replaces && storedId === replaces);
  const [question, answer] = at < 0 ? [] : messages.slice(at);
  if (question?.content !== text || answer?.type !== 'ai') return undefined;
  const { earlier = [], ...last } = answer;
  return [...earlier, last];
}

function withoutReplaced(
  { messages, runs }: ChatState,
  replaces: string | undefined,
): Pick<ChatState, 'messages' | 'runs'> {
  const at = replaces === undefined ? -1 : messages.findIndex(({ storedId }) => storedId === replaces);
  if (at < 0) return { messages, runs };
  const dropped = new Set(messages.slice(at).map(({ key }) => key));
  const isKept = ({ localId }: ChatRun) => !dropped.has(humanKey(localId)) && !dropped.has(answerKey(localId));
  return { messages: messages.slice(0, at), runs: runs.filter(isKept) };
}

function stream(state: ChatState, localId: string, event: StreamEvent): ChatState {
  const run = state.runs.find((other) => other.localId === localId);
  if (!run) return state;
  if (run.phase === 'stopped') return streamStopped(state, localId, event);
  if (event.eventName === 'run') return begin(state, localId, event.payload);
  const key = answerKey(localId);
  const begun = state.messages.some((message) => message.key === key) ? state : begin(state, localId, {});
  return proceed(begun, localId, event);
}

function proceed(state: ChatState, localId: string, event: StreamEvent): ChatState {
  const key = answerKey(localId);
  const messages = state.messages.map((message) => (message.key === key ? applyEvent(message, event) : message));
  if (event.eventName === 'error') {
    return { ...state, messages, sendError: toStreamError(event.payload) };
  }
  if (event.eventName !== 'done') return { ...state, messages };
  const failure = new OracleError('The answer could not be completed.', { code: 'TURN_FAILED' });
  const sendError = state.sendError ?? (event.payload.status === 'failed' ? failure : undefined);
  return { ...state, messages, sendError, runs: state.runs.filter((run) => run.localId !== localId) };
}

/** Of a turn that the user has stopped, only where it is stored and how it ended. */
function streamStopped(state: ChatState, localId: string, event: StreamEvent): ChatState {
  if (event.eventName === 'run') return { ...state, messages: acceptQuestion(state, localId, event.payload) };
  return event.eventName === 'done' ? proceed(state, localId, event) : state;
}

function stop(state: ChatState, localId: string): ChatState {
  const runs = state.runs.map((run) => (run.localId === localId ? { ...run, phase: 'stopped' as const } : run));
  return { ...state, runs, messages: changeMessage(state, answerKey(localId), { status: 'aborted' }) };
}

/** A message that seemed lost with its connection and is found in the history has not failed. */
function keepSendError(
  error: OracleError | undefined,
  { messages }: Pick<ChatState, 'messages'>,
): OracleError | undefined {
  const isUnsure = error?.status === 0 && error.code === 'NETWORK_ERROR';
  return isUnsure && messages.every(({ status, isStored }) => isStored || status !== 'failed') ? undefined : error;
}

/** An event by socket, for the answer it belongs to; answers not begun here get theirs by stream. */
function applySocketEvent(state: ChatState, event: StreamEvent): ChatState {
  const { requestId } = event.payload as { requestId?: string };
  const answer = state.messages.findLast(
    (message) => message.type === 'ai' && message.requestId === (requestId ?? message.requestId),
  );
  const messages = state.messages.map((message) => (message === answer ? applyEvent(message, event, true) : message));
  return { ...state, messages };
}

/** The first frame: the question has arrived, and the answer begins right behind it. */
function begin(state: ChatState, localId: string, named: Partial<StreamEventData['run']>): ChatState {
  const { requestId = localId, messageId: storedId } = named;
  const key = answerKey(localId);
  const runs = state.runs.map((run) => (run.localId === localId ? { ...run, phase: 'streaming' as const } : run));
  const messages = acceptQuestion(state, localId, named);
  const createdAt = new Date().toISOString();
  const earlier = messages.find((message) => message.key === humanKey(localId))?.earlier;
  const local = { key, id: storedId ?? key, storedId, earlier, isStored: false } as const;
  const answer: ChatMessage = { ...local, type: 'ai', content: '', createdAt, status: 'streaming', requestId };
  // An answer that broke off here is repeated from its beginning.
  const broken = messages.findIndex(
    (message) => message.type === 'ai' && !message.isStored && message.requestId === requestId,
  );
  if (broken >= 0) messages[broken] = answer;
  else messages.splice(indexAfterQuestion(messages, requestId), 0, answer);
  return { ...state, runs, messages };
}

function acceptQuestion(
  state: ChatState,
  localId: string,
  { requestId = localId, userMessageId: storedId }: Partial<StreamEventData['run']>,
): ChatMessage[] {
  return changeMessage(state, humanKey(localId), { status: 'complete', requestId, storedId });
}

function changeMessage({ messages }: ChatState, key: string, change: Partial<ChatMessage>): ChatMessage[] {
  return messages.map((message) => (message.key === key ? { ...message, ...change } : message));
}

function fail(state: ChatState, localId: string, error: OracleError): ChatState {
  const isStopped = state.runs.some((run) => run.localId === localId && run.phase === 'stopped');
  const keys = [humanKey(localId), answerKey(localId)];
  return {
    ...state,
    sendError: isStopped ? state.sendError : error,
    runs: state.runs.filter((run) => run.localId !== localId),
    messages: state.messages.map((message) =>
      keys.includes(message.key) && (message.status === 'sending' || message.status === 'streaming')
        ? { ...message, status: 'failed' }
        : message,
    ),
  };
}
