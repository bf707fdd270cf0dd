import type { Cancel, Done, GrpcAnswer, GrpcRequest } from './call.ts';

export interface QueryRequest extends GrpcRequest {
  /** The height the request is pinned to. */
  height?: number | undefined;
  /** The lowest height that the answer may be about. */
  minHeight?: number | undefined;
  /** Not repeated on another node: it may have taken effect. */
  once?: boolean | undefined;
}

/** Sends a call. Callbacks and not promises, because a call passes several of these and each promise costs a microtask. */
export type Send = (request: QueryRequest, done: Done) => Cancel;
/** Something around every call: it may look at, change, refuse or repeat the call and its answer. */
export type Interceptor = (send: Send) => Send;

/** The call as a promise, which is never rejected. */
export function toCall(send: Send): (request: QueryRequest, signal?: AbortSignal) => Promise<GrpcAnswer> {
  return (request, signal) =>
    new Promise((resolve) => {
      const cancel = send(request, (answer) => {
        signal?.removeEventListener('abort', cancelNow);
        resolve(answer);
      });
      function cancelNow() {
        cancel();
      }
      if (signal?.aborted) cancel();
      else signal?.addEventListener('abort', cancelNow, { once: true });
    });
}
