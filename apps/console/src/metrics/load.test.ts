import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parsePrometheus, sumUp, toDeltas, toQuantile, toSnapshot } from './load.ts';

const text = (count: number, faults: number) => `
# HELP http_request_duration_seconds Time
# TYPE http_request_duration_seconds histogram
http_request_duration_seconds_bucket{le="0.01",service="ussd",method="POST",route="/api/ussd",status="200"} ${count}
http_request_duration_seconds_bucket{le="0.1",service="ussd",method="POST",route="/api/ussd",status="200"} ${count * 2}
http_request_duration_seconds_bucket{le="+Inf",service="ussd",method="POST",route="/api/ussd",status="200"} ${count * 2}
http_request_duration_seconds_count{service="ussd",method="POST",route="/api/ussd",status="200"} ${count * 2}
http_request_duration_seconds_count{service="ussd",method="POST",route="/api/ussd",status="503"} ${faults}
http_request_duration_seconds_count{service="ussd",method="GET",route="/metrics",status="200"} 900
`;

test('a Prometheus text is read: labels with escapes, special values, timestamps, comments left out', () => {
  expect(
    parsePrometheus('# x\na{l="q\\"b\\\\\\n,}"} 1\nb 2.5e-3 1700000000\nc +Inf\nnot a line at all\nd NaN'),
  ).toEqual([
    { name: 'a', labels: { l: 'q"b\\\n,}' }, value: 1 },
    { name: 'b', labels: {}, value: 0.0025 },
    { name: 'c', labels: {}, value: Number.POSITIVE_INFINITY },
    { name: 'd', labels: {}, value: Number.NaN },
  ]);
});

test('what happened between two looks is counted by route; probes do not count', () => {
  const before = toSnapshot(parsePrometheus(text(10, 0)), 1_000);
  const after = toSnapshot(parsePrometheus(text(20, 4)), 3_000);
  const { count, faults, buckets } = sumUp(toDeltas(before, after));
  expect({ count, faults }).toEqual({ count: 24, faults: 4 });
  expect(toQuantile(buckets, 0.5)).toBeCloseTo(0.01);
  expect(toQuantile(buckets, 0.95)).toBeCloseTo(0.091);
  expect([...after.routes.keys()]).toEqual(['POST /api/ussd']);
});

test('a restart in between counts from zero, and no requests have no latency', () => {
  const before = toSnapshot(parsePrometheus(text(100, 0)), 0);
  const after = toSnapshot(parsePrometheus(text(5, 0)), 1_000);
  expect(sumUp(toDeltas(before, after)).count).toBe(10);
  const { count, buckets } = sumUp(toDeltas(after, after));
  expect([count, toQuantile(buckets, 0.95)]).toEqual([0, undefined]);
});

test('a quantile lies inside the bucket that holds it', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(50), { minLength: 4, maxLength: 4 }),
      fc.double({ min: 0.01, max: 1, noNaN: true }),
      (counts, q) => {
        const bounds = [0.01, 0.1, 1, Number.POSITIVE_INFINITY];
        let sum = 0;
        const buckets = new Map<number, number>();
        for (const [index, bound] of bounds.entries()) {
          sum += counts[index] ?? 0;
          buckets.set(bound, sum);
        }
        const value = toQuantile(buckets, q);
        if (sum === 0) return expect(value).toBeUndefined();
        const holder = bounds.findIndex((bound) => (buckets.get(bound) ?? 0) >= q * sum);
        expect(value).toBeGreaterThanOrEqual(holder > 0 ? (bounds[holder - 1] ?? 0) : 0);
        expect(value).toBeLessThanOrEqual(Math.min(bounds[holder] ?? 1, 1) + 1e-9);
      },
    ),
  );
});
