import { applyEvent } from './apply-event.ts';
import { type ChatMessage, indexAfterQuestion } from './chat-message.ts';
import { type History, mergeHistory } from './merge-history.ts';
import { OracleError, toStreamError } from './oracle-error.ts';
import type { Attachment, MessagePage, StreamEvent } from './wire.ts';

export type ChatStatus = 'submitted' | 'streaming' | 'ready' | 'error';

/** A turn this page waits for. */
export interface ChatRun {
  /** The request id of a send, or the run id of a run that was taken up. */
  localId: string;
  phase: 'submitted' | 'streaming';
}

export interface ChatState extends History {
  readonly runs: readonly ChatRun[];
  readonly isLoading: boolean;
  readonly loadError: Error | undefined;
  readonly sendError: Error | undefined;
}

export type ChatAction =
  | { type: 'sent'; requestId: string; text: string; createdAt: string; attachments?: Attachment[] | undefined }
  | { type: 'resumed'; runId: string }
  | { type: 'streamed'; localId: string; events: readonly StreamEvent[] }
  | { type: 'failed'; localId: string; error: Error }
  | { type: 'heard'; event: StreamEvent }
  | { type: 'broken'; localId: string }
  | { type: 'settled'; localId: string }
  | { type: 'detached' }
  | { type: 'loading' }
  | { type: 'loaded'; page: MessagePage; older: boolean }
  | { type: 'loadFailed'; error: Error }
  | { type: 'dropped'; key: string };

export const initialChatState: ChatState = {
  messages: [],
  runs: [],
  isLoading: true,
  loadError: undefined,
  sendError: undefined,
  olderCursor: null,
};

/**
 * `ready` → `submitted` on send → `streaming` at the first frame → `ready` on `done`, or `error` on a failure until the
 * next send. With several turns on their way, the one that has come furthest counts.
 */
export function toChatStatus({ runs, sendError }: Pick<ChatState, 'runs' | 'sendError'>): ChatStatus {
  if (runs.some(({ phase }) => phase === 'streaming')) return 'streaming';
  if (runs.length > 0) return 'submitted';
  return sendError ? 'error' : 'ready';
}

const humanKey = (localId: string) => `${localId} human`;
const answerKey = (localId: string) => `${localId} ai`;

/** The chat's next state. Pure: all of the chat's behaviour on paper. */
export function reduceChat(state: ChatState, action: ChatAction): ChatState {
  switch (action.type) {
    case 'sent': {
      const { requestId, text: content, createdAt, attachments } = action;
      const key = humanKey(requestId);
      const local = { key, id: key, isStored: false } as const;
      const question: ChatMessage = {
        ...local,
        type: 'human',
        content,
        createdAt,
        status: 'sending',
        requestId,
        attachments,
      };
      const run: ChatRun = { localId: requestId, phase: 'submitted' };
      return { ...state, sendError: undefined, messages: [...state.messages, question], runs: [...state.runs, run] };
    }
    case 'resumed':
      return { ...state, runs: [...state.runs, { localId: action.runId, phase: 'submitted' }] };
    case 'streamed':
      return action.events.reduce((next, event) => stream(next, action.localId, event), state);
    case 'failed':
      return fail(state, action.localId, action.error);
    case 'heard':
      return hear(state, action.event);
    case 'broken': {
      // The history will tell; until then, what was read stays.
      const key = answerKey(action.localId);
      const messages = state.messages.map((message) =>
        message.key === key ? { ...message, status: 'failed' as const } : message,
      );
      return { ...state, messages };
    }
    case 'settled':
      return { ...state, runs: state.runs.filter(({ localId }) => localId !== action.localId) };
    case 'detached': {
      // What goes on at the service is taken up again from its first frame, or found in the history.
      const keys = new Set(state.runs.flatMap(({ localId }) => [humanKey(localId), answerKey(localId)]));
      return { ...state, messages: state.messages.filter(({ key }) => !keys.has(key)), runs: [] };
    }
    case 'loading':
      return { ...state, isLoading: true };
    case 'loaded': {
      const merged = mergeHistory(state, action);
      return { ...state, ...merged, isLoading: false, loadError: undefined };
    }
    case 'loadFailed':
      return { ...state, isLoading: false, loadError: action.error };
    case 'dropped':
      return { ...state, messages: state.messages.filter(({ key }) => key !== action.key) };
  }
}

function stream(state: ChatState, localId: string, event: StreamEvent): ChatState {
  if (!state.runs.some((run) => run.localId === localId)) return state;
  const key = answerKey(localId);
  if (event.eventName === 'run') return begin(state, localId, event.payload.requestId ?? localId);
  const begun = state.messages.some((message) => message.key === key) ? state : begin(state, localId, localId);
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

/** An event by socket, for the answer it belongs to; answers not begun here get theirs by stream. */
function hear(state: ChatState, event: StreamEvent): ChatState {
  const { requestId } = event.payload as { requestId?: string };
  const answer = state.messages.findLast(
    (message) => message.type === 'ai' && message.requestId === (requestId ?? message.requestId),
  );
  const messages = state.messages.map((message) => (message === answer ? applyEvent(message, event) : message));
  return { ...state, messages };
}

/** The first frame: the question has arrived, and the answer begins right behind it. */
function begin(state: ChatState, localId: string, requestId: string): ChatState {
  const key = answerKey(localId);
  const runs = state.runs.map((run) => (run.localId === localId ? { ...run, phase: 'streaming' as const } : run));
  const messages = state.messages.map((message) =>
    message.key === humanKey(localId) ? { ...message, status: 'complete' as const, requestId } : message,
  );
  const createdAt = new Date().toISOString();
  const local = { key, id: key, isStored: false } as const;
  const answer: ChatMessage = { ...local, type: 'ai', content: '', createdAt, status: 'streaming', requestId };
  // An answer that broke off here before is told again from its beginning.
  const broken = messages.findIndex(
    (message) => message.type === 'ai' && !message.isStored && message.requestId === requestId,
  );
  if (broken >= 0) messages[broken] = answer;
  else messages.splice(indexAfterQuestion(messages, requestId), 0, answer);
  return { ...state, runs, messages };
}

function fail(state: ChatState, localId: string, error: Error): ChatState {
  const keys = [humanKey(localId), answerKey(localId)];
  return {
    ...state,
    sendError: error,
    runs: state.runs.filter((run) => run.localId !== localId),
    messages: state.messages.map((message) =>
      keys.includes(message.key) && (message.status === 'sending' || message.status === 'streaming')
        ? { ...message, status: 'failed' }
        : message,
    ),
  };
}
