import { createParser } from 'eventsource-parser';

export interface ServerSentEvent {
  event: string;
  /** The event's own id; empty where it has none. */
  id: string;
  data: string;
}

/** A comment: the parser keeps a line that ends in a lone CR until it has seen what follows. */
const end = ':\n';

/** Cuts the stream off when nothing, not even a heartbeat, arrives for this long. */
const silenceMs = 45_000;

/** The events of a reply as they arrive. Throws when the connection breaks, falls silent or the signal fires. */
export async function* readEventStream(response: Response, signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
  const events: ServerSentEvent[] = [];
  const parser = createParser({
    onEvent: ({ event = 'message', id = '', data }) => events.push({ event, id, data }),
  });
  const parse = (text: string) => {
    parser.feed(text);
    return events.splice(0);
  };
  if (!response.body) {
    // React Native's own `fetch` hands a reply over when it is complete.
    yield* parse((await response.text()) + end);
    return;
  }
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { value, done } = await withLimit(reader.read(), signal);
      yield* parse(decoder.decode(value, { stream: !done }) + (done ? end : ''));
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function withLimit<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => settle(() => reject(signal.reason));
    const timer = setTimeout(() => settle(() => reject(new Error('the stream fell silent'))), silenceMs);
    const settle = (how: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      how();
    };
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop);
    work.then(
      (value) => settle(() => resolve(value)),
      (error) => settle(() => reject(error)),
    );
  });
}
