import { sumUp, type Total, toQuantile } from '../metrics/load.ts';

export const alarmKinds = ['down', 'faults', 'slow'] as const;

export interface Alarm {
  service: string;
  kind: (typeof alarmKinds)[number];
  /** Failed looks, percent of requests, or milliseconds. */
  value: number;
  threshold: number;
}

export interface Thresholds {
  /** Looks in a row without an answer. */
  missedLooks: number;
  faultPercent: number;
  p95Ms: number;
}

/** Of a service in the last minutes. */
export interface Watched {
  service: string;
  missed: number;
  recent: readonly Total[];
}

/** Fewer requests say little of a share or a percentile. */
const leastRequests = 20;

/** What is beyond its threshold now. */
export function findAlarms({ service, missed, recent }: Watched, thresholds: Thresholds): Alarm[] {
  const { missedLooks, faultPercent, p95Ms } = thresholds;
  if (missed >= missedLooks) return [{ service, kind: 'down', value: missed, threshold: missedLooks }];
  const { count, faults, buckets } = sumUp(recent);
  if (count < leastRequests) return [];
  const percent = (faults / count) * 100;
  const ms = (toQuantile(buckets, 0.95) ?? 0) * 1000;
  const found: Alarm[] = [];
  if (percent > faultPercent) found.push({ service, kind: 'faults', value: percent, threshold: faultPercent });
  if (ms > p95Ms) found.push({ service, kind: 'slow', value: ms, threshold: p95Ms });
  return found;
}
