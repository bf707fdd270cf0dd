import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorBodySchema } from '@palaver/contract';
import { lookUpPrefix, type UssdSessionsRecord } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { fetchBounded, type RecentError, signalOf } from '@palaver/service-kit/internal';
import type { FastifyRequest } from 'fastify';
import { type Targets, toServiceHeaders } from './forwarding.ts';
import type { HistoryStore } from './history/history-store.ts';
import type { LoadPoint, ServiceWatch } from './history/watch-services.ts';

/** One part of the figures, read at every tick or at every `ticks`th; undefined if there is nothing new. */
export interface FigureSource {
  name: string;
  ticks?: number;
  read(): Promise<unknown>;
  sent?(): void;
}

const tickMs = 5_000;
const bytesAtOpening = 6_000;
const bytesAtOnce = 2_000;
const bytesPerTick = 700;
const repeatMs = 60_000;
const answerMs = 4_000;
const shown = 20;
// A change of these alone is not worth sending.
const restless = new Set(['height', 'uptime', 'timestamp', 'blockHeight', 'blockAgeSeconds']);

/** Yields changed parts as lines of JSON: 6 kB when it opens, then at most 5 kB in 15 s, what has waited longest first. */
export async function* streamFigures(
  sources: readonly FigureSource[],
  wait: () => Promise<unknown>,
): AsyncGenerator<string> {
  const sent = new Map<string, { key: string; at: number }>();
  let allowed = bytesAtOpening;
  for (let tick = 0; ; tick += 1) {
    const due = sources.filter(({ ticks = 1 }) => tick % ticks === 0);
    const parts = await Promise.all(due.map(async (source) => ({ source, value: await source.read() })));
    const sentAt = ({ name }: FigureSource) => sent.get(name)?.at ?? 0;
    for (const { source, value } of parts.sort((one, other) => sentAt(one.source) - sentAt(other.source))) {
      if (value === undefined) continue;
      const key = JSON.stringify(value, (name, inner) => (restless.has(name) ? undefined : inner));
      const before = sent.get(source.name);
      if (before?.key === key && Date.now() - before.at < repeatMs) continue;
      const line = `${JSON.stringify({ [source.name]: value })}\n`;
      if (line.length > allowed && allowed < bytesAtOnce) continue;
      allowed -= line.length;
      sent.set(source.name, { key, at: Date.now() });
      source.sent?.();
      yield line;
    }
    allowed = Math.min(allowed + bytesPerTick, bytesAtOnce);
    await wait();
  }
}

export interface FigureParts {
  targets: Targets;
  history: HistoryStore;
  watch: ServiceWatch;
}

export function addFigureRoute(server: Server, { targets, history, watch }: FigureParts): void {
  const closing = new AbortController();
  server.addHook('preClose', async () => closing.abort());
  server.get('/figures', { onRequest: server.operatorGuard, schema: { hide: true } }, (request, reply) => {
    const signal = AbortSignal.any([closing.signal, signalOf(reply)]);
    const lines = streamFigures(listSources(request), () => sleep(tickMs, undefined, { signal }));
    const stream = Readable.from(untilAborted(lines, signal));
    return reply
      .type('application/x-ndjson')
      .headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
      .send(stream);
  });

  function listSources(request: FastifyRequest): FigureSource[] {
    const { authorization } = request.headers;
    const ask = readerOf(request);
    const own = async (url: string) => {
      const reply = await server.inject({ url, headers: { ...(authorization && { authorization }) } });
      return reply.json<unknown>();
    };
    const services = Object.entries(targets).map(([name, base]) => ({ name, base: base.replace(/\/$/, '') }));
    const ussd = targets['ussd-gateway'].replace(/\/$/, '');
    /** Services lock out whoever sends wrong tokens, so a refused token is not sent again. */
    const source = (name: string, url: string, shorten: (body: never) => unknown = (body) => body): FigureSource => {
      let refused: { refused: string } | undefined;
      return {
        name,
        async read() {
          if (refused) return refused;
          const { status, body, message } = await ask(url);
          if (status === 200) return shorten(body as never);
          if (status === 401) refused = { refused: message };
          return { refused: message };
        },
      };
    };
    let [sentUntil, points]: [number, LoadPoint[]] = [0, []];
    return [
      { name: 'alarms', read: async () => history.listAlarms(Date.now()) },
      { name: 'nodes', read: async () => watch.nodes() },
      { name: 'refused', read: async () => watch.refused() },
      ...services.map(({ name, base }) => ({
        name: `health:${name}`,
        read: async () => (await ask(`${base}/health`)).body ?? { status: 'down' },
      })),
      { name: 'health:console', read: () => own('/health') },
      {
        name: 'load',
        async read() {
          points = watch.points().filter(({ time }) => time > sentUntil);
          return points.length > 0 ? points : undefined;
        },
        sent() {
          sentUntil = points.at(-1)?.time ?? sentUntil;
        },
      },
      ...services.map(({ name, base }) => newErrors(source(`errors:${name}`, `${base}/metrics/errors`))),
      newErrors({ name: 'errors:console', read: () => own('/metrics/errors') }),
      source('sessions', `${ussd}/api/ussd/sessions`, ({ activeSessions, count }: UssdSessionsRecord) => ({
        activeSessions: activeSessions.slice(0, shown),
        count,
      })),
      { ...source('reports', `${ussd}/api/ussd/reports?limit=10`), ticks: 3 },
    ];
  }
}

/** Asks services for whoever sent the request: they decide what a viewer sees, and whom their audit log names. */
export function readerOf(request: FastifyRequest) {
  const { authorization } = request.headers;
  const headers = {
    ...(toServiceHeaders(request, { authorization }) as Record<string, string>),
    'x-request-id': `${lookUpPrefix}${randomUUID()}`,
  };
  return async (url: string): Promise<{ status: number; body: unknown; message: string }> => {
    try {
      const reply = await fetchBounded(url, { headers, timeoutMs: answerMs });
      const body = await reply.json();
      return { status: reply.status, body, message: errorBodySchema.safeParse(body).data?.message ?? noAnswer };
    } catch {
      return { status: 503, body: undefined, message: noAnswer };
    }
  };
}

const noAnswer = 'The service does not answer.';
const errorsAtOnce = 5;

/** What has failed since the last time: faults before refusals, the newest first, only as many as fit. */
export function newErrors({ name, read }: FigureSource): FigureSource {
  let sentUntil = '';
  let newest = '';
  return {
    name,
    async read() {
      const answer = (await read()) as { errors?: RecentError[]; refused?: string };
      if (!answer.errors) return answer;
      const fresh = answer.errors.filter(({ time }) => time > sentUntil).sort(inOrder);
      newest = [sentUntil, ...fresh.map(({ time }) => time)].sort().at(-1) ?? sentUntil;
      return fresh.length > 0 ? fresh.slice(0, errorsAtOnce) : undefined;
    },
    sent() {
      sentUntil = newest;
    },
  };
}

const inOrder = (one: RecentError, other: RecentError) =>
  Number(other.status >= 500) - Number(one.status >= 500) || other.time.localeCompare(one.time);

async function* untilAborted(lines: AsyncGenerator<string>, signal: AbortSignal): AsyncGenerator<string> {
  try {
    yield* lines;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
