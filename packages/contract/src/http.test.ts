import { expect, test } from 'vitest';
import { errorStatus } from './errors.ts';
import { grpcStatuses, toGrpcCode, toGrpcStatus, toRefusalGrpcCode } from './http.ts';

test('a name gives its code', () => {
  for (const { code, name } of grpcStatuses) expect(toGrpcCode(name)).toBe(code);
});

test.each([-1, 17, 1.5, Number.NaN])('code %s is outside the standard and UNKNOWN', (code) => {
  expect(toGrpcStatus(code).name).toBe('UNKNOWN');
});

test('a refusal of the gateway carries a code of the same class as its HTTP status', () => {
  for (const status of Object.values(errorStatus)) {
    const { httpStatus } = toGrpcStatus(toRefusalGrpcCode(status));
    // gRPC has no code for 405 and 502: they are UNIMPLEMENTED, as with the reference, and RESOURCE_EXHAUSTED.
    if (status !== 405 && status !== 502)
      expect(Math.floor(httpStatus / 100), String(status)).toBe(Math.floor(status / 100));
  }
  expect(toRefusalGrpcCode(405)).toBe(12);
  expect(toRefusalGrpcCode(400)).toBe(3);
  expect(toRefusalGrpcCode(599)).toBe(13);
});
