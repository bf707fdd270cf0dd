import { expect, expectTypeOf, test } from 'vitest';
import { toSocketPayload } from './event-catalogue.ts';
import { type AnyEvent, clientEventPayloadSchemas, sseEventDataSchemas, sseEventSchema } from './events.ts';

test('the union has every event of the stream', () => {
  const members = sseEventSchema.options.map((option) => option.shape.name.value);
  expect(members.toSorted()).toEqual(Object.keys(sseEventDataSchemas).toSorted());
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
  ['denied', 'denied'],
  [{ message: 'denied', stack: '…' }, 'denied'],
  [{}, '{}'],
  [true, 'true'],
  [null, undefined],
  [false, undefined],
  ['', undefined],
])('the error %j of a client is read as %j', (error, text) => {
  expect(clientEventPayloadSchemas.tool_result.parse({ toolCallId: 't', error }).error).toBe(text);
});

test('AnyEvent is distinguished by eventName', () => {
  expectTypeOf<Extract<AnyEvent, { eventName: 'message' }>['payload']>().toEqualTypeOf<{
    content: string;
    timestamp: string;
    part?: number | undefined;
  }>();
});
