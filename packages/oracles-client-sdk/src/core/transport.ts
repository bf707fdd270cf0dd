import type { CredentialCache, Credentials } from './credentials.ts';
import { OracleError, toOracleError } from './oracle-error.ts';
import { type OpenSocket, openSocketChannel } from './socket-channel.ts';

export interface MatrixSession {
  accessToken: string;
  homeServer: string;
}

export interface TransportOptions {
  /** The agent's API, for example `https://agent.example`. */
  baseUrl: string;
  oracleDid: string;
  credentials: CredentialCache;
  userDid?: string | undefined;
  fetch?: typeof globalThis.fetch | undefined;
  /** Replaces the event channel over Socket.IO, for tests. */
  openSocket?: OpenSocket | undefined;
}

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  body?: unknown;
  /** In place of `body`. */
  file?: Blob | undefined;
  onProgress?: ((share: number) => void) | undefined;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Longest wait for the head of the reply; a minute where it is not given. */
  timeoutMs?: number | undefined;
}

export type Transport = ReturnType<typeof createTransport>;

/** Longest wait for the head of a reply, and for the next progress of an upload. */
const headTimeoutMs = 60_000;
const uploadTimeoutMs = 10 * 60_000;

/** Requests to one agent, with credentials; whatever is not 2xx is thrown as an `OracleError`. */
export function createTransport(options: TransportOptions) {
  const { oracleDid, credentials, userDid } = options;
  const baseUrl = options.baseUrl.replace(/\/+$/, '');

  async function attempt(path: string, tokens: Credentials, request: RequestOptions): Promise<Response> {
    const { method = 'GET', body, file, onProgress, signal, timeoutMs = headTimeoutMs } = request;
    const timezone = findTimezone();
    const late = new AbortController();
    const expire = () => late.abort(new Error('no reply in time'));
    const timer = setTimeout(expire, file ? uploadTimeoutMs : timeoutMs);
    let idleTimer: ReturnType<typeof setTimeout> | undefined;
    // Not `AbortSignal.any`: React Native has none.
    const leave = () => late.abort(signal?.reason);
    if (signal?.aborted) leave();
    signal?.addEventListener('abort', leave);
    try {
      const headers = {
        ...toAuthHeaders(tokens),
        ...(userDid && { 'x-did': userDid }),
        ...(timezone && { 'x-timezone': timezone }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(file && { 'content-type': file.type || 'application/octet-stream' }),
        ...request.headers,
      };
      // Missing outside of pages.
      const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => UploadRequest };
      if (file && onProgress && !options.fetch && XMLHttpRequest) {
        const report = (share: number) => {
          clearTimeout(idleTimer);
          // Sent is what the network stack has taken: after the last byte, only the limit of the whole upload holds.
          if (share < 1) idleTimer = setTimeout(expire, headTimeoutMs);
          onProgress(share);
        };
        const upload = { file, headers, onProgress: report, signal: late.signal };
        return await sendFile(new XMLHttpRequest(), baseUrl + path, upload);
      }
      const content = file ?? (body !== undefined ? JSON.stringify(body) : undefined);
      return await (options.fetch ?? globalThis.fetch)(baseUrl + path, {
        method,
        signal: late.signal,
        headers,
        ...(content !== undefined && { body: content }),
      });
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      throw new OracleError('The agent cannot be reached.', { code: 'NETWORK_ERROR', cause });
    } finally {
      // Only the head has a limit: a stream is read until its caller stops.
      signal?.removeEventListener('abort', leave);
      clearTimeout(timer);
      clearTimeout(idleTimer);
    }
  }

  async function request(path: string, init: RequestOptions = {}): Promise<Response> {
    for (let isRepeat = false; ; isRepeat = true) {
      const tokens = await credentials.get(oracleDid);
      const response = await attempt(path, tokens, init);
      if (response.ok) return response;
      if (response.status !== 401 || isRepeat) throw await toOracleError(response);
      credentials.refuse(oracleDid, tokens);
      await response.body?.cancel();
    }
  }

  return {
    oracleDid,
    credentials,
    request,
    openSocket: options.openSocket ?? openSocketChannel,
    json: async <T>(path: string, init?: RequestOptions) => (await (await request(path, init)).json()) as T,
  };
}

/** A device that does not know its zone reports a name that is not a time zone. */
function findTimezone(): string | undefined {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return timeZone === 'Etc/Unknown' ? undefined : timeZone;
}

export function toAuthHeaders({ invocation, delegation }: Credentials): Record<string, string> {
  return {
    ...(invocation && { authorization: `Bearer ${invocation}`, 'x-auth-type': 'ucan' }),
    ...(delegation && { 'x-ucan-delegation': delegation }),
  };
}

/** What is used of `XMLHttpRequest`; the core compiles without the types of browsers. */
interface UploadRequest {
  readonly status: number;
  readonly statusText: string;
  readonly responseText: string;
  readonly upload: { onprogress: ((event: { loaded: number; total: number }) => void) | null };
  onload: (() => void) | null;
  onerror: (() => void) | null;
  onabort: (() => void) | null;
  onloadend: (() => void) | null;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getResponseHeader(name: string): string | null;
  send(body: Blob): void;
  abort(): void;
}

/** A request with a file as its body. `fetch` does not report how much has been sent; browsers do with `XMLHttpRequest`. */
function sendFile(
  request: UploadRequest,
  url: string,
  init: { file: Blob; headers: Record<string, string>; onProgress: (share: number) => void; signal: AbortSignal },
): Promise<Response> {
  const { file, headers, onProgress, signal } = init;
  return new Promise((resolve, reject) => {
    const cancel = () => request.abort();
    request.open('POST', url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => onProgress(total ? loaded / total : 0);
    request.onload = () => {
      const retryAfter = request.getResponseHeader('retry-after');
      const requestId = request.getResponseHeader('x-request-id');
      const { status, statusText } = request;
      const replied = {
        ...(retryAfter && { 'retry-after': retryAfter }),
        ...(requestId && { 'x-request-id': requestId }),
      };
      resolve(new Response(request.responseText, { status, statusText, headers: replied }));
    };
    request.onerror = () => reject(new TypeError('The upload failed.'));
    request.onabort = () => reject(signal.reason);
    request.onloadend = () => signal.removeEventListener('abort', cancel);
    signal.addEventListener('abort', cancel);
    if (signal.aborted) reject(signal.reason);
    else request.send(file);
  });
}
