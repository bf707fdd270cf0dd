import type { Message, MessagePart, SseEvent } from '@palaver/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRun } from '../runs/run.ts';
import { toPartOrder, toParts } from './message.ts';

const ids = { runId: 'x', sessionId: 's', userDid: 'u', requestId: 'r', messageId: 'm' };
const turn = { sessionId: 's', requestId: 'r' };
const timestamp = '2026-01-01T00:00:00.000Z';

const asked = { askedAt: timestamp, expiresAt: timestamp };

const id = fc.constantFrom('a', 'b', 'c');
const words = fc.constantFrom('', 'one', ' two', '\n', '\n\nthree', 'four\n');
const status = fc.constantFrom('isRunning' as const, 'done' as const);
const event: fc.Arbitrary<SseEvent> = fc.oneof(
  words.map((content): SseEvent => ({ name: 'message', data: { content, timestamp } })),
  fc
    .tuple(words, fc.boolean())
    .map(([reasoning, isComplete]): SseEvent => ({ name: 'reasoning', data: { ...turn, reasoning, isComplete } })),
  fc.tuple(id, status).map(
    ([eventId, is]): SseEvent => ({
      name: 'tool_call',
      data: { ...turn, eventId, toolName: 't', args: {}, status: is },
    }),
  ),
  fc.tuple(id, fc.constantFrom('pending' as const, 'approved' as const)).map(
    ([approvalId, is]): SseEvent => ({
      name: 'approval_request',
      data: { ...turn, runId: 'x', approvalId, toolCallId: 't', toolName: 't', args: {}, status: is, ...asked },
    }),
  ),
  id.map(
    (eventId): SseEvent => ({
      name: 'render_component',
      data: { ...turn, eventId, componentName: 'C', args: {}, status: 'done' },
    }),
  ),
);

function emit(run: ReturnType<typeof createRun>, events: SseEvent[]): void {
  for (const { name, data } of events) run.emit(name, data);
}

/** As a row keeps it. */
function store({ parts: _, ...message }: Message, order: ReturnType<typeof toPartOrder>): string {
  return JSON.stringify({ message, order });
}

test('parts survive the store and another owner, and hold every word', () => {
  fc.assert(
    fc.property(fc.array(event), fc.array(event), (before, after) => {
      const run = createRun(ids, { onEvent() {} });
      emit(run, before);
      const next = createRun(ids, { onEvent() {}, earlier: run.frames.read(0, Number.POSITIVE_INFINITY).text });
      emit(run, after);
      emit(next, after);
      const message = run.draft('complete');
      const { parts = [] } = message;
      expect(next.draft('complete').parts).toEqual(parts);
      const { message: kept, order } = JSON.parse(store(message, toPartOrder(message)));
      expect(toParts(kept, order)).toEqual(parts);
      const joined = (type: string) => parts.map((part) => (part.type === type && 'text' in part ? part.text : ''));
      const plain = (text: string) => text.replaceAll('\n', '');
      expect(plain(joined('text').join(''))).toBe(plain(message.content));
      expect(plain(joined('reasoning').join(''))).toBe(plain(message.reasoning ?? ''));
      for (const text of joined('text').filter(Boolean).slice(1)) expect(text).not.toMatch(/^\n/);
    }),
  );
});

/** The parts as a reader of the stream puts them together, by the `part` of each event alone. */
function readParts(events: SseEvent[]): string[] {
  const parts: string[] = [];
  for (const { name, data } of events) {
    if (!('part' in data) || data.part === undefined) continue;
    if (name === 'message' || name === 'reasoning') {
      const words = name === 'message' ? data.content : data.reasoning;
      const type = name === 'message' ? 'text' : 'reasoning';
      const known = parts[data.part]?.slice(type.length + 1) ?? '';
      const isFirst = !parts.slice(0, data.part).some((part) => part.startsWith(type));
      parts[data.part] = `${type} ${known === '' && !isFirst ? words.replace(/^\n+/, '') : known + words}`;
    } else if (name === 'tool_call') parts[data.part] = `tool_call ${data.eventId} ${data.status}`;
    else if (name === 'approval_request') parts[data.part] = `approval ${data.approvalId} ${data.status}`;
    else if (name === 'render_component') parts[data.part] = `component ${data.eventId}`;
  }
  return parts;
}

test('whoever reads the stream has the parts of the stored message', () => {
  const show = (part: MessagePart) => {
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return `${part.type} ${part.text}`;
      case 'approval':
        return `approval ${part.approvalId} ${part.status}`;
      case 'component':
        return `component ${part.eventId}`;
      case 'file':
        return 'file';
      default:
        return `${part.type} ${part.id} ${part.status}`;
    }
  };
  fc.assert(
    fc.property(fc.array(event), (events) => {
      const sent: SseEvent[] = [];
      const run = createRun(ids, { onEvent: (each) => void sent.push(each) });
      emit(run, events);
      run.stopCalls();
      const stored = run.draft('complete').parts ?? [];
      expect(readParts(sent)).toEqual(stored.map(show));
    }),
  );
});

test('every event says to which part it belongs', () => {
  const seen: SseEvent[] = [];
  const run = createRun(ids, { onEvent: (sent) => void seen.push(sent) });
  const call = { ...turn, eventId: 'a', toolName: 't', args: {} };
  emit(run, [
    { name: 'reasoning', data: { ...turn, reasoning: 'Hm.', isComplete: false } },
    { name: 'reasoning', data: { ...turn, reasoning: '', isComplete: true } },
    { name: 'message', data: { content: 'Let me ', timestamp } },
    { name: 'message', data: { content: 'look.', timestamp } },
    { name: 'tool_call', data: { ...call, status: 'isRunning' } },
    { name: 'message', data: { content: '\n\nDone.', timestamp } },
    { name: 'tool_call', data: { ...call, status: 'done', output: 1 } },
  ]);
  expect(seen.map(({ data }) => ('part' in data ? data.part : undefined))).toEqual([0, 0, 1, 1, 2, 3, 2]);
  expect(run.draft('complete').parts).toEqual([
    { type: 'reasoning', text: 'Hm.' },
    { type: 'text', text: 'Let me look.' },
    { type: 'tool_call', id: 'a', name: 't', args: {}, status: 'done', output: 1 },
    { type: 'text', text: 'Done.' },
  ]);
});

test('a message of an older version has its parts in the usual order', () => {
  const call = { id: 'a', name: 't', args: {}, status: 'done' as const };
  const file = { filename: 'f', mimetype: 'text/plain' };
  expect(toParts({ content: 'Yes.', reasoning: 'Hm.', toolCalls: [call], attachments: [file] })).toEqual([
    { type: 'reasoning', text: 'Hm.' },
    { type: 'tool_call', ...call },
    { type: 'text', text: 'Yes.' },
    { type: 'file', ...file },
  ]);
});

test('calls that have one id are parts once each, in their order', () => {
  const toolCalls = Array.from({ length: 1_000 }, (_, at) => ({
    id: at % 10 === 0 ? 'other' : 'same',
    name: `tool_${at}`,
    args: {},
    status: 'done' as const,
  }));
  const parts = toParts({ content: '', toolCalls });
  expect(parts).toHaveLength(1_000);
  expect(parts.map((part) => part.type === 'tool_call' && part.name)).toEqual(toolCalls.map(({ name }) => name));
});
