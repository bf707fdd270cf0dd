import type { Message } from '@palaver/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { estimateTokens } from '../models/create-models.ts';
import { maxHistoryMessages, splitHistory, toPromptHistory, toTranscript } from './history.ts';

const say = (type: Message['type'], content: string, more: Partial<Message> = {}): Message => ({
  id: 'm',
  type,
  content,
  createdAt: '2026-01-01T00:00:00.000Z',
  status: 'complete',
  requestId: 'r',
  ...more,
});
const turn = (size: number) => [say('human', 'q'.repeat(size)), say('ai', 'a'.repeat(size))];
const sizeOf = (messages: Message[]) =>
  messages.reduce((sum, message) => sum + estimateTokens(toPromptHistory([message])), 0);

test('tokens are counted by bytes, files left out', () => {
  expect(estimateTokens('x'.repeat(400))).toBe(100);
  expect(estimateTokens('漢'.repeat(400))).toBe(300);
  const file = {
    type: 'file' as const,
    mediaType: 'image/png',
    data: { type: 'data' as const, data: new Uint8Array(9999) },
  };
  expect(estimateTokens([{ role: 'user', content: [file] }])).toBeLessThan(50);
});

describe('where a conversation is cut', () => {
  test('nowhere as long as it fits', () => {
    const messages = [...turn(100), ...turn(100)];
    expect(splitHistory(messages, sizeOf(messages))).toEqual({ old: [], kept: messages });
  });

  test('before a question, with half the room filled', () => {
    const messages = Array.from({ length: 10 }, () => turn(400)).flat();
    const { old, kept } = splitHistory(messages, 1_000);
    expect([...old, ...kept]).toEqual(messages);
    expect(kept[0]?.type).toBe('human');
    expect(sizeOf(kept)).toBeLessThanOrEqual(500);
    expect(kept.length).toBeGreaterThan(0);
  });

  test('after everything where even the last turn is too long', () => {
    const messages = turn(100_000);
    expect(splitHistory(messages, 1_000)).toEqual({ old: messages, kept: [] });
  });

  test('also where there are very many short messages', () => {
    const messages = Array.from({ length: maxHistoryMessages }, () => turn(1)).flat();
    const { kept } = splitHistory(messages, 1_000_000);
    expect(kept).toHaveLength(maxHistoryMessages / 2);
  });

  test('whatever was said, nothing is lost, doubled or over the limit', () => {
    const sizes = fc.array(fc.tuple(fc.nat({ max: 3000 }), fc.nat({ max: 3000 })), { maxLength: 20 });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 50, max: 3000 }), (turns, limit) => {
        const messages = turns.flatMap(([question, answer]) => [
          say('human', 'q'.repeat(question)),
          say('ai', 'a'.repeat(answer)),
        ]);
        const { old, kept } = splitHistory(messages, limit);
        expect([...old, ...kept]).toEqual(messages);
        expect(sizeOf(kept)).toBeLessThanOrEqual(limit);
        if (old.length > 0) expect(old.length % 2).toBe(0);
      }),
    );
  });
});

describe('as text', () => {
  test('who said what, with the tools that were used', () => {
    const call = { id: 'c', name: 'recall', args: {}, status: 'done' as const };
    const messages = [say('human', 'hello'), say('ai', 'hi', { toolCalls: [call, call] })];
    expect(toTranscript(messages, 1_000)).toEqual(['User: hello\nAssistant: hi (used recall)\n']);
  });

  test('with the files of a question', () => {
    const question = { ...say('human', 'see'), files: [{ name: 'a.txt', text: 'goats' }, { name: 'b.png' }] };
    const note = '[Files that came with this message and are not shown again: b.png]';
    expect(toTranscript([question], 1_000)).toEqual([`User: see\n\n[File a.txt]\ngoats\n${note}\n`]);
  });

  test('in pieces that fit, long messages shortened in the middle', () => {
    const messages = Array.from({ length: 6 }, (_, index) => say('human', `${index}${'x'.repeat(10_000)}${index}`));
    const pieces = toTranscript(messages, 5_000);
    expect(pieces.length).toBeGreaterThan(1);
    for (const piece of pieces) expect(estimateTokens(piece)).toBeLessThanOrEqual(3_750);
    for (let index = 0; index < 6; index += 1) expect(pieces.join('')).toMatch(new RegExp(`${index}x+ … x+${index}`));
  });
});

test('an answer with tools becomes calls and results; what never ended is left out', () => {
  const toolCalls = [
    { id: '1', name: 'a', args: { n: 1 }, status: 'done' as const, output: 'x'.repeat(5_000) },
    { id: '2', name: 'b', args: {}, status: 'error' as const, error: 'no' },
    { id: '3', name: 'c', args: {}, status: 'isRunning' as const },
  ];
  const [calls, results, text] = toPromptHistory([say('ai', 'done', { toolCalls })]);
  expect(calls).toMatchObject({ role: 'assistant', content: [{ toolCallId: '1' }, { toolCallId: '2' }] });
  expect(results).toMatchObject({
    role: 'tool',
    content: [{ output: { type: 'text' } }, { output: { type: 'error-text', value: 'no' } }],
  });
  expect(JSON.stringify(results).length).toBeLessThan(4_500);
  expect(text).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'done' }] });
});
