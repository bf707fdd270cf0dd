import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createEventStreamParser, readEventStream, type ServerSentEvent } from './event-stream.ts';

const parse = (text: string) => createEventStreamParser()(text);

async function collect(chunks: Uint8Array[]): Promise<ServerSentEvent[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const events: ServerSentEvent[] = [];
  for await (const event of readEventStream(new Response(body), new AbortController().signal)) events.push(event);
  return events;
}

describe('the event stream parser', () => {
  it.each([
    ['a named event', 'event: run\nid: 1\ndata: {}\n\n', [{ event: 'run', id: '1', data: '{}' }]],
    ['several data lines', 'data: a\ndata:b\ndata\n\n', [{ event: 'message', id: '', data: 'a\nb\n' }]],
    ['CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n', [{ data: 'a' }, { data: 'b' }]],
    ['CR alone', 'data: a\r\rdata: b\r\r', [{ data: 'a' }, { data: 'b' }]],
    ['comments', ': heartbeat\n\n: more\ndata: a\n\n', [{ data: 'a' }]],
    ['one space only is taken off', 'data:  a\n\n', [{ data: ' a' }]],
    ['an event without data', 'event: run\n\ndata: a\n\n', [{ event: 'message', data: 'a' }]],
    ['an event without an id', 'id: 7\ndata: a\n\ndata: b\n\n', [{ id: '7' }, { id: '' }]],
    ['an id with NUL', 'id: a\0b\ndata: a\n\n', [{ id: '' }]],
    ['unknown fields', 'retry: 5\nfoo: bar\ndata: a\n\n', [{ data: 'a' }]],
    ['an unfinished event', 'data: a\n', []],
  ])('reads %s', (_name, text, expected) => {
    expect(parse(text)).toMatchObject(expected);
    expect(parse(text)).toHaveLength(expected.length);
  });

  it('gives the same events however the bytes are cut, split characters and line breaks included', async () => {
    const event = fc.record({
      event: fc.constantFrom('message', 'tool_call'),
      id: fc.nat().map(String),
      data: fc.array(
        fc.string({ unit: 'grapheme' }).filter((text) => !/[\r\n]/.test(text)),
        { minLength: 1 },
      ),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(event),
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.array(fc.nat(400), { maxLength: 30 }),
        async (events, end, cuts) => {
          const text = events
            .map(({ event: name, id, data }) =>
              [`event: ${name}`, `: comment`, `id: ${id}`, ...data.map((line) => `data: ${line}`), '', ''].join(end),
            )
            .join('');
          const bytes = new TextEncoder().encode(text);
          const points = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
          const chunks = points.slice(1).map((point, index) => bytes.slice(points[index], point));
          expect(await collect(chunks)).toEqual(
            events.map(({ data, ...rest }) => ({ ...rest, data: data.join('\n') })),
          );
        },
      ),
      { numRuns: 150 },
    );
  });
});

it('ends a stream when its signal fires', async () => {
  const stop = new AbortController();
  const endless = new Response(new ReadableStream({}));
  const reading = readEventStream(endless, stop.signal).next();
  stop.abort(new Error('enough'));
  await expect(reading).rejects.toThrow('enough');
});
