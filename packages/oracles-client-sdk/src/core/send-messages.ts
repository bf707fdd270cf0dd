import type { ChatOptions, ChatParts, ChatSnapshot, SendOptions } from './chat-interface.ts';
import type { ChatMessage } from './chat-message.ts';
import { humanKey } from './chat-state.ts';
import { declareClientTools } from './client-tools.ts';
import type { TurnFollower } from './follow-turns.ts';
import { OracleError } from './oracle-error.ts';
import { createRandomId } from './random-id.ts';
import type { SocketChannel } from './socket-channel.ts';
import { isBlob, toShownFiles, uploadAll } from './upload-files.ts';

interface SenderParts extends ChatParts {
  turns: TurnFollower;
  channel(): SocketChannel | undefined;
}

const keptExtras = 20;

export function createMessageSender({ turns, channel, ...parts }: SenderParts) {
  const { options, get, dispatch, sync } = parts;
  const uploads = new Map<string, AbortController>();
  /** Sends the service has not answered yet. */
  const accepting = new Set<Promise<unknown>>();
  /** What went along with the latest messages, by their keys. */
  const extras = new Map<string, SendOptions>();

  async function send(text: string, extra: SendOptions = {}): Promise<void> {
    const signal = parts.signal();
    const [requestId, messageId] = [createRandomId(), createRandomId()];
    const { replaces } = extra;
    extras.set(humanKey(requestId), extra);
    for (const [key] of extras) if (extras.size > keptExtras) extras.delete(key);
    const createdAt = new Date().toISOString();
    const attachments = toShownFiles(extra.attachments);
    dispatch({ type: 'sent', requestId, messageId, text, createdAt, attachments, replaces });
    const accepted = post({ requestId, messageId, text, extra }, signal);
    accepting.add(accepted);
    await turns.report(requestId, signal, async () => {
      const response = await accepted.finally(() => accepting.delete(accepted));
      channel()?.connect();
      const runId = response.headers.get('x-run-id') ?? undefined;
      await turns.follow(requestId, { runId, response }, signal);
    });
  }

  type Sending = Pick<Posting, 'requestId' | 'messageId' | 'text' | 'extra'>;
  async function post(sending: Sending, signal: AbortSignal): Promise<Response> {
    const { requestId, extra } = sending;
    const upload = new AbortController();
    const leave = () => upload.abort(signal.reason);
    signal.addEventListener('abort', leave);
    if (extra.attachments?.some(isBlob)) uploads.set(requestId, upload);
    try {
      return await postMessage(options, {
        ...sending,
        socketId: channel()?.socketId(),
        signal: upload.signal,
        onUpload: (share) => dispatch({ type: 'uploading', localId: requestId, share }),
        onUploaded: () => uploads.delete(requestId),
      });
    } finally {
      signal.removeEventListener('abort', leave);
      uploads.delete(requestId);
    }
  }

  /** Sends a message in the place of a question, with the question's files unless others are given. */
  async function replace({ key, ...question }: ChatMessage, text: string, extra: SendOptions): Promise<void> {
    if (!question.storedId && question.isStored) await sync();
    const { storedId } = get().messages.find((message) => message.key === key) ?? question;
    if (!storedId) dispatch({ type: 'dropped', key });
    const { replaces: _, ...kept } = extras.get(key) ?? {};
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

  return {
    send,
    isWaiting: () => accepting.size > 0,
    /** The service can only stop what has reached it. */
    whenAccepted: () => Promise.allSettled(accepting),
    cancelUpload(localId: string): boolean {
      const upload = uploads.get(localId);
      upload?.abort(new OracleError('The upload was stopped.', { code: 'ABORTED' }));
      return upload !== undefined;
    },

    async retry(): Promise<void> {
      const { messages, sendError } = get();
      const failed = messages.findLast((message) => message.type === 'human' && hasFailed(message, messages));
      if (!failed || !sendError) return;
      // Sent once already, perhaps: only the history can say, and while it cannot be read nothing is sent.
      if (sendError.code === 'NETWORK_ERROR') {
        const arrived = await turns.hasArrived(failed.requestId, parts.signal()).catch(() => undefined);
        if (arrived !== false) return arrived ? sync().catch(() => {}) : undefined;
      }
      if (!failed.isStored && failed.status === 'failed') dispatch({ type: 'dropped', key: failed.key });
      await send(failed.content, extras.get(failed.key));
    },

    async regenerate(messageId?: string): Promise<void> {
      const question = findQuestion(get(), messageId);
      if (question) await replace(question, question.content, {});
    },

    async edit(messageId: string, text: string, extra: SendOptions = {}): Promise<void> {
      const question = get().messages.find(({ id, type }) => id === messageId && type === 'human');
      if (!question) throw new OracleError('There is no such question.', { code: 'MESSAGE_NOT_FOUND', status: 404 });
      await replace(question, text, extra);
    },
  };
}

function hasFailed({ requestId, status }: ChatMessage, messages: readonly ChatMessage[]): boolean {
  const answer = messages.find((message) => message.type === 'ai' && message.requestId === requestId);
  return status === 'failed' || answer?.status === 'failed';
}

function findQuestion({ messages }: ChatSnapshot, messageId: string | undefined): ChatMessage | undefined {
  const at = messageId === undefined ? messages.length : messages.findIndex(({ id }) => id === messageId) + 1;
  return messages.slice(0, at).findLast(({ type }) => type === 'human');
}

interface Posting {
  requestId: string;
  /** The id that the question is stored under: the page shows it at once. */
  messageId: string;
  text: string;
  extra: SendOptions;
  /** Named by the service; others may refuse its header in a browser's preflight. */
  socketId: string | undefined;
  signal: AbortSignal;
  onUpload(share: number): void;
  /** The message itself is about to be sent. */
  onUploaded(): void;
}

/** Uploads the files of a message and sends it; resolves with the head of the stream. */
async function postMessage(options: ChatOptions, posting: Posting): Promise<Response> {
  const { requestId, messageId, text, extra, socketId, signal } = posting;
  const { transport, sessionId } = options;
  if (isOffline()) throw new OracleError('This device is offline.', { code: 'OFFLINE', retryable: true });
  const { attachments, ...rest } = extra;
  const files = attachments && (await uploadAll(transport, attachments, { onProgress: posting.onUpload, signal }));
  posting.onUploaded();
  const { accessToken, homeServer } = options.matrix ?? {};
  const body = {
    ...rest,
    ...(files && { attachments: files }),
    message: text,
    messageId,
    stream: true,
    ...declareClientTools(options.clientTools?.() ?? {}),
    ...(homeServer && { homeServer }),
  };
  const headers = {
    'x-request-id': requestId,
    ...(socketId && { 'x-socket-id': socketId }),
    ...(accessToken && { 'x-matrix-access-token': accessToken }),
    ...(homeServer && { 'x-matrix-homeserver': homeServer }),
  };
  return transport.request(`/messages/${encodeURIComponent(sessionId)}`, { method: 'POST', body, headers, signal });
}

function isOffline(): boolean {
  const { navigator } = globalThis as { navigator?: { onLine?: boolean } };
  return navigator?.onLine === false;
}
