const maxResponseBytes = 32 * 1024 * 1024;

export class ResponseTooLargeError extends RangeError {
  override readonly name = 'ResponseTooLargeError';
}

/**
 * A fetch whose answers end in an error once they are absurdly large. What models and tools say has limits of its own; this
 * one holds where nothing sensible is said at all: a line without end is otherwise kept in memory until it ends.
 */
export function limitResponses(fetch: typeof globalThis.fetch, maxBytes = maxResponseBytes): typeof globalThis.fetch {
  return async (...args) => {
    const response = await fetch(...args);
    if (!response.body) return response;
    let bytes = 0;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes > maxBytes) throw new ResponseTooLargeError(`the answer is larger than ${maxBytes} bytes`);
        controller.enqueue(chunk);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(counter), { status, statusText, headers });
  };
}
