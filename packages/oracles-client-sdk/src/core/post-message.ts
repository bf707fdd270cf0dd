import type { ChatOptions, SendOptions } from './chat-interface.ts';
import { declareClientTools } from './client-tools.ts';
import { OracleError } from './oracle-error.ts';
import { uploadAll } from './upload-files.ts';

export interface Posting {
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
export async function postMessage(options: ChatOptions, posting: Posting): Promise<Response> {
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

/** True only if the device reports that it is offline. */
function isOffline(): boolean {
  const { navigator } = globalThis as { navigator?: { onLine?: boolean } };
  return navigator?.onLine === false;
}
