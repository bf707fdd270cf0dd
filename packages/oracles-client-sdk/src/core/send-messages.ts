import type { ChatParts, ChatSnapshot, SendOptions } from './chat-interface.ts';
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

interface Posting {
  requestId: string;
  messageId: string;
  text: string;
  extra: SendOptions;
}

const keptExtras = 20;

export function createMessageSender({ turns, channel, ...parts }: SenderParts) {
  const { options, get, dispatch, sync } = parts;
  const uploads = new Map<string, AbortController>();
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

  async function post({ requestId, messageId, text, extra }: Posting, signal: AbortSignal): Promise<Response> {
    const { transport, sessionId } = options;
    const { attachments, ...rest } = extra;
    // Named by the service; others may refuse its header in a browser's preflight.
    const socketId = channel()?.socketId();
    const upload = new AbortController();
    const leave = () => upload.abort(signal.reason);
    signal.addEventListener('abort', leave);
    if (attachments?.some(isBlob)) uploads.set(requestId, upload);
    try {
      const { navigator } = globalThis as { navigator?: { onLine?: boolean } };
      if (navigator?.onLine === false)
        throw new OracleError('This device is offline.', { code: 'OFFLINE', retryable: true });
      const onProgress = (share: number) => dispatch({ type: 'uploading', localId: requestId, share });
      const files = attachments && (await uploadAll(transport, attachments, { onProgress, signal: upload.signal }));
      uploads.delete(requestId);
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
      const path = `/messages/${encodeURIComponent(sessionId)}`;
      return await transport.request(path, { method: 'POST', body, headers, signal: upload.signal });
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
