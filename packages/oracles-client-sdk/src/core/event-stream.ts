export interface ServerSentEvent {
  event: string;
  id: string;
  data: string;
}

/** An incremental parser of Server-Sent Events, by the WHATWG rules: text in any pieces, whole events out. */
export function createEventStreamParser(): (text: string) => ServerSentEvent[] {
  let rest = '';
  let endedInReturn = false;
  let event = '';
  let id = '';
  let data: string[] = [];

  function takeLine(line: string): ServerSentEvent | undefined {
    if (line === '') {
      const complete = data.length > 0 ? { event: event || 'message', id, data: data.join('\n') } : undefined;
      event = '';
      id = '';
      data = [];
      return complete;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') event = value;
    else if (field === 'data') data.push(value);
    else if (field === 'id' && !value.includes('\0')) id = value;
    return undefined;
  }

  return (text) => {
    if (text === '') return [];
    const events: ServerSentEvent[] = [];
    // The line break whose first half ended the piece before has been taken already.
    const lines = (rest + (endedInReturn && text[0] === '\n' ? text.slice(1) : text)).split(/\r\n|\n|\r/);
    endedInReturn = text.endsWith('\r');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const complete = takeLine(line);
      if (complete) events.push(complete);
    }
    return events;
  };
}

/** Cuts the stream off when nothing, not even a heartbeat, arrives for this long. */
const silenceMs = 45_000;

/** The events of a reply as they arrive. Throws when the connection breaks, falls silent or the signal fires. */
export async function* readEventStream(response: Response, signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
  const parse = createEventStreamParser();
  if (!response.body) {
    // React Native's own `fetch` hands a reply over when it is complete.
    yield* parse(await response.text());
    return;
  }
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { value, done } = await withLimit(reader.read(), signal);
      yield* parse(decoder.decode(value, { stream: !done }));
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
