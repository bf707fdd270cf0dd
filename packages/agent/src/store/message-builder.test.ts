import type { SseEvent } from '@palaver/contract';
import { expect, test } from 'vitest';
import { createMessageBuilder } from './message.ts';

const base = { id: 'm', createdAt: '2026-01-01T00:00:00.000Z', requestId: 'r' };
const turn = { sessionId: 's', requestId: 'r' };

function build(events: SseEvent[]) {
  const builder = createMessageBuilder(base);
  for (const event of events) builder.add(event);
  return builder;
}

test('an answer without events is an empty message', () => {
  expect(build([]).toMessage('aborted')).toEqual({ ...base, type: 'ai', content: '', status: 'aborted', parts: [] });
});

test('text and reasoning are put together in the order they came', () => {
  const timestamp = base.createdAt;
  const builder = build([
    { name: 'run', data: { runId: 'x', ...turn } },
    { name: 'reasoning', data: { ...turn, reasoning: 'hm', isComplete: false } },
    { name: 'reasoning', data: { ...turn, reasoning: '…', isComplete: true } },
    { name: 'message', data: { content: 'a ', timestamp } },
    { name: 'message', data: { content: 'b', timestamp } },
  ]);
  expect(builder.toMessage('complete')).toMatchObject({ content: 'a b', reasoning: 'hm…' });
});

test('a call is kept once, as it ended', () => {
  const call = { ...turn, toolName: 't', args: { x: 1 } };
  const builder = build([
    { name: 'tool_call', data: { ...call, eventId: 'e', status: 'isRunning' } },
    { name: 'action_call', data: { ...call, toolCallId: 'a', status: 'isRunning' } },
    { name: 'browser_tool_call', data: { ...call, toolCallId: 'b', status: 'isRunning' } },
    { name: 'tool_call', data: { ...call, eventId: 'e', status: 'done', output: null } },
    { name: 'action_call', data: { ...call, toolCallId: 'a', status: 'error', error: 'no' } },
  ]);
  expect(builder.openCalls().map(({ name }) => name)).toEqual(['browser_tool_call']);
  expect(builder.toMessage('complete').toolCalls).toEqual([
    { id: 'e', name: 't', args: { x: 1 }, status: 'done', output: null },
    { id: 'a', name: 't', args: { x: 1 }, status: 'error', error: 'no' },
    { id: 'b', name: 't', args: { x: 1 }, status: 'error', error: 'The turn was stopped.' },
  ]);
});

test('a component drawn twice under one id is kept once', () => {
  const component = { ...turn, eventId: 'c', componentName: 'Chart', status: 'done' as const };
  const builder = build([
    { name: 'render_component', data: { ...component, args: { v: 1 } } },
    { name: 'render_component', data: { ...component, args: { v: 2 } } },
  ]);
  expect(builder.toMessage('complete').components).toEqual([{ componentName: 'Chart', args: { v: 2 }, eventId: 'c' }]);
});
