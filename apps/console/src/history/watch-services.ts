import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '@palaver/service-kit';
import { fetchBounded, runEvery } from '@palaver/service-kit/internal';
import { isAllowedHost, openPublic, RefusedAddressError } from '@palaver/ucan/open-public';
import type { Targets } from '../forwarding.ts';
import {
  listNodes,
  parsePrometheus,
  type RouteLoad,
  round,
  type Snapshot,
  sumUp,
  toDeltas,
  toQuantile,
  toSnapshot,
  type WatchedNode,
} from '../metrics/load.ts';
import type { Alarm, HistoryStore } from './history-store.ts';

export interface WatchOptions {
  targets: Targets;
  token: string | undefined;
  store: HistoryStore;
  logger: Logger;
  everyMs: number;
  keepDays: number;
  thresholds: Thresholds;
  webhook: Webhook | undefined;
}

/** Between two polls, by service: requests in a second and the 95th percentile in seconds. */
export interface LoadPoint {
  time: number;
  rates: Record<string, [perSecond: number, p95: number | null]>;
}

export type ServiceWatch = ReturnType<typeof watchServices>;

class ServiceState {
  snapshot: Snapshot | undefined;
  missed = 0;
  isRefused = false;
  recent: { time: number; deltas: RouteLoad[] }[] = [];
  nodes: WatchedNode[] = [];
  /** Polls in a row in which a node was down. */
  nodesMissed = 0;
}

const answerMs = 5_000;
const windowMs = 300_000;
const dayMs = 86_400_000;
const hourMs = 3_600_000;
const sendsPerHour = 60;
const maxMetricsBytes = 8 * 1024 * 1024;

export function watchServices(options: WatchOptions) {
  const { targets, store, logger, everyMs, keepDays, thresholds, webhook } = options;
  const closing = new AbortController();
  const states = new Map<string, ServiceState>();
  const raised = new Map(store.listRaised().map((alarm) => [toKey(alarm), alarm as Alarm]));
  const sends: number[] = [];
  let points: LoadPoint[] = [];
  const sending = new Set<Promise<void>>();

  async function poll(service: string, url: string): Promise<LoadPoint['rates']> {
    const state = states.get(service) ?? new ServiceState();
    states.set(service, state);
    const { text, isRefused } = await readMetrics(url, options.token, closing.signal);
    if (closing.signal.aborted) return {};
    const now = Date.now();
    let rates: LoadPoint['rates'] = {};
    state.isRefused = isRefused;
    state.missed = text === undefined && !isRefused ? state.missed + 1 : 0;
    if (text !== undefined) {
      const samples = parsePrometheus(text);
      state.nodes = listNodes(samples);
      state.nodesMissed = state.nodes.every(({ healthy }) => healthy) ? 0 : state.nodesMissed + 1;
      const snapshot = toSnapshot(samples, now);
      const deltas = state.snapshot ? toDeltas(state.snapshot, snapshot) : [];
      if (state.snapshot) rates = { [service]: toRate(deltas, (now - state.snapshot.time) / 1000) };
      state.snapshot = snapshot;
      state.recent = [...state.recent, { time: now, deltas }].filter(({ time }) => time > now - windowMs);
      store.add(service, now, deltas);
    }
    settleAlarms(service, findAlarms(service, state, thresholds), now);
    return rates;
  }

  function settleAlarms(service: string, found: Alarm[], now: number): void {
    for (const alarm of found) {
      if (raised.has(toKey(alarm))) continue;
      raised.set(toKey(alarm), alarm);
      store.raise(alarm, now);
      announce(alarm, 'raised', now);
    }
    for (const [key, alarm] of raised) {
      if (alarm.service !== service || found.some((other) => toKey(other) === key)) continue;
      raised.delete(key);
      store.clear(alarm, now);
      announce(alarm, 'cleared', now);
    }
  }

  function announce(alarm: Alarm & { by?: string }, state: 'raised' | 'acknowledged' | 'cleared', now: number): void {
    logger.warn({ ...alarm, state }, 'alarm');
    if (!webhook) return;
    while (sends[0] !== undefined && sends[0] < now - hourMs) sends.shift();
    if (sends.length >= sendsPerHour) {
      const notice = `the webhook was called ${sendsPerHour} times in an hour; this alarm is not sent`;
      logger.error({ ...alarm, state }, notice);
      return;
    }
    sends.push(now);
    const body = { ...alarm, state, time: new Date(now).toISOString() };
    const sent = sendWebhook(webhook, body, closing.signal).then((fault) => {
      if (fault) logger.error({ ...alarm, state, fault }, 'the alarm could not be sent to the webhook');
      sending.delete(sent);
    });
    sending.add(sent);
  }

  const polling = runEvery({
    everyMs,
    firstMs: 0,
    async work() {
      const rates = await Promise.all(Object.entries(targets).map(([service, url]) => poll(service, url)));
      const time = Date.now();
      const point: LoadPoint = { time, rates: Object.assign({}, ...rates) };
      points = [...points.filter((other) => other.time > time - windowMs), point];
      store.forget(time - keepDays * dayMs);
    },
    onFault: (error) => logger.error({ err: error }, 'the history of the services could not be kept'),
  });
  return {
    points: () => points,
    acknowledge(named: Pick<Alarm, 'service' | 'kind'>, by: string): boolean {
      const alarm = raised.get(toKey(named));
      if (!alarm) return false;
      const now = Date.now();
      store.acknowledge(alarm, by, now);
      announce({ ...alarm, by }, 'acknowledged', now);
      return true;
    },
    nodes: () => [...states.values()].flatMap(({ nodes }) => nodes),
    refused: () => [...states].filter(([, { isRefused }]) => isRefused).map(([service]) => service),
    async close() {
      closing.abort();
      await polling.stop();
      await Promise.all(sending);
    },
  };
}

function toRate(deltas: RouteLoad[], seconds: number): [number, number | null] {
  const { count, buckets } = sumUp(deltas);
  return [round(count / Math.max(seconds, 0.001)), round(toQuantile(buckets, 0.95))];
}

const toKey = ({ service, kind }: Pick<Alarm, 'service' | 'kind'>) => `${service} ${kind}`;

async function readMetrics(url: string, token: string | undefined, closing: AbortSignal) {
  try {
    const reply = await fetchBounded(`${url.replace(/\/$/, '')}/metrics`, {
      ...(token && { headers: { authorization: `Bearer ${token}` } }),
      signal: closing,
      timeoutMs: answerMs,
      maxBytes: maxMetricsBytes,
    });
    if (reply.ok) return { text: await reply.text(), isRefused: false };
    return { text: undefined, isRefused: [401, 403, 429].includes(reply.status) };
  } catch {
    return { text: undefined, isRefused: false };
  }
}

interface Thresholds {
  missedLooks: number;
  faultPercent: number;
  p95Ms: number;
}

/** With fewer requests, a share or a percentile says little. */
const leastRequests = 20;

function findAlarms(service: string, state: ServiceState, thresholds: Thresholds): Alarm[] {
  const { missed } = state;
  const { missedLooks, faultPercent, p95Ms } = thresholds;
  if (missed >= missedLooks) return [{ service, kind: 'down', value: missed, threshold: missedLooks }];
  const { count, faults, buckets } = sumUp(state.recent.flatMap(({ deltas }) => deltas));
  const found: Alarm[] = [];
  if (state.nodesMissed >= missedLooks) {
    const down = state.nodes.filter(({ healthy }) => !healthy);
    const detail = down.map(({ address, cause }) => (cause ? `${address}: ${cause}` : address)).join(', ');
    found.push({ service, kind: 'nodes', value: down.length, threshold: state.nodes.length, detail });
  }
  if (count < leastRequests) return found;
  const percent = (faults / count) * 100;
  const ms = (toQuantile(buckets, 0.95) ?? 0) * 1000;
  if (percent > faultPercent) found.push({ service, kind: 'faults', value: percent, threshold: faultPercent });
  if (ms > p95Ms) found.push({ service, kind: 'slow', value: ms, threshold: p95Ms });
  return found;
}

interface Webhook {
  url: string;
  /** Hosts (`name` or `name:port`) that may be private and without TLS. */
  allowedHosts: readonly string[];
}

const attemptMs = 10_000;
const pausesMs = [1_000, 5_000, 25_000];

/** Posts to public HTTPS addresses and allowed hosts, follows no redirects, and retries; returns the last fault. */
export async function sendWebhook(webhook: Webhook, body: object, signal: AbortSignal): Promise<string | undefined> {
  for (const pauseMs of [...pausesMs, 0]) {
    const { fault, isFinal } = await post(webhook, body, signal);
    if (fault === undefined || isFinal || pauseMs === 0 || signal.aborted) return fault;
    await wait(pauseMs, undefined, { signal }).catch(() => {});
  }
  return undefined;
}

async function post({ url, allowedHosts }: Webhook, body: object, closing: AbortSignal) {
  const signal = AbortSignal.any([closing, AbortSignal.timeout(attemptMs)]);
  const target = new URL(url);
  try {
    const answer = await openPublic(target, {
      signal,
      method: 'POST',
      body: JSON.stringify(body),
      isAllowed: isAllowedHost(target, allowedHosts),
      headers: { 'content-type': 'application/json' },
    });
    // Nobody reads the answer, which may be endless.
    answer.destroy();
    const { statusCode: status = 0 } = answer;
    if (status >= 200 && status < 300) return { fault: undefined, isFinal: true };
    return { fault: `it answered ${status}`, isFinal: status < 500 && status !== 429 };
  } catch (error) {
    return { fault: (error as Error).message, isFinal: error instanceof RefusedAddressError };
  }
}
