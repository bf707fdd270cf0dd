import type { AnyEvent } from '@palaver/oracles-client-sdk';
import { expect, test } from 'vitest';
import { addRunEvent, type RunLog } from './run-log.ts';

const turn = { sessionId: 's', requestId: 'r' };
const call = { ...turn, eventId: 'call-1', toolName: 'remember', args: { text: 'tea' } };
const events: [number, AnyEvent][] = [
  [1_000, { eventName: 'run', payload: { ...turn, runId: 'run-1' } }],
  [1_100, { eventName: 'reasoning', payload: { ...turn, reasoning: 'So', isComplete: false } }],
  [1_200, { eventName: 'tool_call', payload: { ...call, status: 'isRunning' } }],
  [1_500, { eventName: 'tool_call', payload: { ...call, status: 'done', output: {} } }],
  [1_600, { eventName: 'message', payload: { content: 'I', timestamp: '', part: 2 } }],
  [1_900, { eventName: 'message', payload: { content: ' will', timestamp: '', part: 2 } }],
  [
    2_000,
    {
      eventName: 'done',
      payload: { runId: 'run-1', messageId: 'm', status: 'complete', usage: { inputTokens: 9, outputTokens: 4 } },
    },
  ],
];
const play = (list: [number, AnyEvent][]) =>
  list.reduce<RunLog[]>((runs, [at, event]) => addRunEvent(runs, event, { now: at, prompt: 'Remember tea' }), []);

test('a run is what its events say: steps in order with their times, tokens and latency', () => {
  expect(play(events)).toEqual([
    {
      runId: 'run-1',
      prompt: 'Remember tea',
      startedAt: 1_000,
      firstWordMs: 600,
      totalMs: 1_000,
      status: 'complete',
      usage: { inputTokens: 9, outputTokens: 4 },
      steps: [
        { id: 'reasoning 0', kind: 'reasoning', name: '', startMs: 100, endMs: 100 },
        {
          id: 'call-1',
          kind: 'tool',
          name: 'remember',
          args: { text: 'tea' },
          status: 'done',
          startMs: 200,
          endMs: 500,
        },
        { id: 'text 2', kind: 'text', name: '', startMs: 600, endMs: 900 },
      ],
    },
  ]);
});

test('a run that is followed again starts once, and what comes after its end belongs to no run', () => {
  const [start] = events;
  if (!start) throw new Error('no events');
  expect(play([...events, start, events[4] ?? start])).toEqual(play(events));
});
