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

/** Missing outside of pages. */
const findRequest = () => (globalThis as { XMLHttpRequest?: new () => UploadRequest }).XMLHttpRequest;

export const canReportProgress = () => findRequest() !== undefined;

/** A request with a file as its body. `fetch` does not report how much has been sent; browsers do with `XMLHttpRequest`. */
export function sendFile(
  url: string,
  init: { file: Blob; headers: Record<string, string>; onProgress: (share: number) => void; signal: AbortSignal },
): Promise<Response> {
  const { file, headers, onProgress, signal } = init;
  return new Promise((resolve, reject) => {
    const Request = findRequest();
    if (!Request) return reject(new TypeError('Uploads cannot be watched here.'));
    const request = new Request();
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
