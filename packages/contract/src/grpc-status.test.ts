import { expect, test } from 'vitest';
import { errorStatus } from './errors.ts';
import { grpcStatuses, toGrpcCode, toGrpcStatus, toRefusalGrpcCode } from './grpc-status.ts';

test('the table is complete and stands in the order of its codes', () => {
  expect(grpcStatuses.map(({ code }) => code)).toEqual(Array.from({ length: 17 }, (_, code) => code));
});

// The status table of the contract: 1→408, 3/9/11→400, 4→504, 5→404, 6/10→409, 7→403, 8→429, 12→501, 14→503, 16→401.
const table: Record<number, number> = {
  0: 200,
  1: 408,
  3: 400,
  9: 400,
  11: 400,
  4: 504,
  5: 404,
  6: 409,
  10: 409,
  7: 403,
  8: 429,
  12: 501,
  14: 503,
  16: 401,
};

test.each(Array.from({ length: 17 }, (_, code) => [code, table[code] ?? 500]))(
  'code %i is HTTP %i',
  (code, httpStatus) => {
    expect(toGrpcStatus(code).httpStatus).toBe(httpStatus);
  },
);

test('names lead back to their codes', () => {
  for (const { code, name } of grpcStatuses) expect(toGrpcCode(name)).toBe(code);
});

test.each([-1, 17, 1.5, Number.NaN])('code %s is outside the standard and UNKNOWN', (code) => {
  expect(toGrpcStatus(code).name).toBe('UNKNOWN');
});

test('a refusal of the gateway carries a code of the same class as its HTTP status', () => {
  for (const status of Object.values(errorStatus)) {
    const { httpStatus } = toGrpcStatus(toRefusalGrpcCode(status));
    // 405 and 502 have no gRPC twin: UNIMPLEMENTED (as the reference answers) and RESOURCE_EXHAUSTED stand in.
    if (status !== 405 && status !== 502)
      expect(Math.floor(httpStatus / 100), String(status)).toBe(Math.floor(status / 100));
  }
  expect(toRefusalGrpcCode(405)).toBe(12);
  expect(toRefusalGrpcCode(400)).toBe(3);
  expect(toRefusalGrpcCode(599)).toBe(13);
});
