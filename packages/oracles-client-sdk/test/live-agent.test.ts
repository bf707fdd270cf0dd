import { DisconnectReason } from 'livekit-client';
import { describe, expect, it } from 'vitest';
import { OracleError } from '../src/core/oracle-error.ts';
import { addSegments, toDeviceError, toEndError, toJoinError } from '../src/live-agent/live-state.ts';

describe('errors of calls', () => {
  it.each([
    ['NotAllowedError', 'PERMISSION_DENIED', 'Access to the microphone was denied.'],
    ['NotFoundError', 'DEVICE_MISSING', 'No microphone was found.'],
    ['NotReadableError', 'DEVICE_IN_USE', 'The microphone is used by another program.'],
    ['Error', 'CONNECTION_FAILED', 'The microphone did not start: broken'],
  ])('%s is %s', (name, code, message) => {
    const cause = Object.assign(new Error('broken'), { name });
    expect(toDeviceError('microphone', cause)).toMatchObject({ name: 'LiveError', code, message });
  });

  it.each([
    [404, 'NOT_FOUND', 'CALLS_NOT_CONFIGURED'],
    [503, 'UNAVAILABLE', 'CALLS_NOT_CONFIGURED'],
    [404, 'SESSION_NOT_FOUND', 'SESSION_NOT_FOUND'],
    [402, 'PAYMENT_REQUIRED', 'PAYMENT_REQUIRED'],
    [0, 'NETWORK_ERROR', 'CONNECTION_FAILED'],
  ])('a reply of %i %s is %s', (status, code, expected) => {
    expect(toJoinError(new OracleError('x', { status, code }))).toMatchObject({ code: expected });
  });
});

describe('the end of a call', () => {
  it.each([
    [DisconnectReason.ROOM_DELETED, undefined],
    [DisconnectReason.CLIENT_INITIATED, undefined],
    [DisconnectReason.SIGNAL_CLOSE, 'The connection was lost.'],
    [undefined, 'The connection was lost.'],
  ])('of reason %s has the message %s', (reason, message) => {
    expect(toEndError(reason)?.message).toBe(message);
  });
});

describe('the transcript', () => {
  it('replaces a segment until it is final, and does not grow for ever', () => {
    const first = addSegments([], [{ id: '1', text: 'he', final: false }], 'ana');
    const second = addSegments(
      first,
      [
        { id: '1', text: 'hello', final: true },
        { id: '2', text: 'I', final: false },
      ],
      'ana',
    );
    expect(second).toEqual([
      { id: '1', identity: 'ana', text: 'hello', isFinal: true },
      { id: '2', identity: 'ana', text: 'I', isFinal: false },
    ]);
    const many = Array.from({ length: 600 }, (_, index) => ({ id: `n${index}`, text: '', final: true }));
    expect(addSegments(second, many, 'ana')).toHaveLength(500);
  });
});
