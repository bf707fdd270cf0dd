import { expect, expectTypeOf, test } from 'vitest';
import { clientEvents, serverEvents, toSocketPayload } from './event-catalogue.ts';
import { type AnyEvent, clientEventPayloadSchemas, serverEventPayloadSchemas } from './socket-events.ts';
import { type SseEvent, sseEventDataSchemas, sseEventSchema } from './sse-events.ts';

const timestamp = '2026-01-02T03:04:05.678Z';
const turn = { sessionId: 's', requestId: 'r' };
const call = { ...turn, toolCallId: 't', toolName: 'read', args: { a: 1 } };

const examples: { [Name in SseEvent['name']]: Extract<SseEvent, { name: Name }>['data'] } = {
  run: { runId: 'run', ...turn },
  message: { content: 'Hel', timestamp },
  reasoning: { ...turn, reasoning: 'hm', isComplete: false },
  tool_call: { ...turn, eventId: 'e', toolName: 'read', args: {}, status: 'done', output: [1] },
  action_call: { ...call, status: 'error', error: 'no' },
  approval_request: {
    ...turn,
    runId: 'run',
    approvalId: 'a',
    toolCallId: 't',
    toolName: 'pay',
    args: { amount: 5 },
    status: 'refused',
    askedAt: timestamp,
    expiresAt: timestamp,
    answeredAt: timestamp,
    answeredBy: 'did:key:z6Mk',
    reason: 'too much',
  },
  render_component: { ...turn, eventId: 'e', componentName: 'Card', args: {}, status: 'done' },
  browser_tool_call: { ...call, status: 'isRunning' },
  router_update: { ...turn, to: 'researcher' },
  error: { error: 'The model is busy', code: 'MODEL_FAILED', kind: 'rate_limit', retryable: true, timestamp },
  done: { runId: 'run', messageId: 'm', status: 'aborted' },
};

test.each(Object.entries(examples))('stream event %s goes through the union unchanged', (name, data) => {
  expect(sseEventSchema.parse({ name, data })).toEqual({ name, data });
});

test('the union knows every event and no other', () => {
  const members = sseEventSchema.options.map((option) => option.shape.name.value);
  expect(members.toSorted()).toEqual(Object.keys(sseEventDataSchemas).toSorted());
  expect(sseEventSchema.safeParse({ name: 'token', data: {} }).success).toBe(false);
});

test.each([
  ['run', { runId: 'x', sessionId: 's' }],
  ['message', { content: 'x', timestamp: 'yesterday' }],
  ['tool_call', { ...examples.tool_call, status: 'running' }],
  ['tool_call', { ...examples.tool_call, args: 'x' }],
  ['error', { ...examples.error, kind: 'odd' }],
  ['done', { ...examples.done, status: 'running' }],
] as const)('stream event %s refuses bad data (%#)', (name, data) => {
  expect(sseEventSchema.safeParse({ name, data }).success).toBe(false);
});

test('the catalogue has the events of the specification, plus approvals and the error before a disconnect', () => {
  expect(serverEvents.map(({ name }) => name).join(' ')).toBe(
    'connected pong status subscribed available-events tool_call action_call approval_request render_component browser_tool_call router_update message_cache_invalidation error',
  );
  expect(clientEvents.map(({ name }) => name).join(' ')).toBe(
    'ping status subscribe list-events tool_result action_call_result approval_response',
  );
  expect(Object.keys(serverEventPayloadSchemas)).toHaveLength(serverEvents.length);
  expect(Object.keys(clientEventPayloadSchemas)).toHaveLength(clientEvents.length);
  const events = { serverEvents, clientEvents };
  expect(serverEventPayloadSchemas['available-events'].parse(events)).toEqual(events);
});

test('a request to the page carries no outcome', () => {
  const request = serverEventPayloadSchemas.browser_tool_call.parse({ ...call, status: 'done', output: 'x' });
  expect(request).toEqual(call);
  const action = serverEventPayloadSchemas.action_call;
  expect(action.parse({ ...call, status: 'isRunning' })).toEqual({ ...call, status: 'isRunning' });
  expect(action.safeParse({ ...call, status: 'done' }).success).toBe(false);
});

test('a server event is flat and enveloped at once', () => {
  const payload = { sessionId: 's', events: ['tool_call'] };
  expect(toSocketPayload('subscribed', payload)).toEqual({ eventName: 'subscribed', payload, ...payload });
});

test('a payload cannot replace its envelope', () => {
  const payload = { eventName: 'forged', payload: 'forged' };
  expect(toSocketPayload('pong', payload)).toEqual({ eventName: 'pong', payload });
});

test.each([
  ['tool_result', { toolCallId: 't', result: { a: 1 } }, true],
  ['tool_result', { toolCallId: 't', result: null, error: null }, true],
  ['tool_result', { toolCallId: 't', error: 'denied' }, true],
  ['tool_result', { result: 1 }, false],
  ['tool_result', { toolCallId: '', result: 1 }, false],
  ['tool_result', { toolCallId: 5, result: 1 }, false],
  ['tool_result', { toolCallId: 't', error: {} }, true],
  ['action_call_result', { sessionId: 's', toolCallId: 't', result: 1 }, true],
  ['action_call_result', { toolCallId: 't', result: 1 }, false],
  ['ping', undefined, true],
] as const)('client event %s %j: %s', (name, payload, expected) => {
  expect(clientEventPayloadSchemas[name].safeParse(payload).success).toBe(expected);
});

test.each([
  ['denied', 'denied'],
  [{ message: 'denied', stack: '…' }, 'denied'],
  [{}, '{}'],
  [true, 'true'],
  [null, undefined],
  [false, undefined],
  ['', undefined],
])('a page that failed with %j says %j', (error, text) => {
  expect(clientEventPayloadSchemas.tool_result.parse({ toolCallId: 't', error }).error).toBe(text);
});

test('AnyEvent is told apart by eventName', () => {
  expectTypeOf<Extract<AnyEvent, { eventName: 'message' }>['payload']>().toEqualTypeOf<{
    content: string;
    timestamp: string;
    part?: number | undefined;
  }>();
});
