import { DatabaseSync } from 'node:sqlite';
import { createPrivateFile } from '@palaver/store/internal';
import { type RouteLoad, round, sumUp, type Total, toQuantile } from '../metrics/load.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;
const maxPoints = 72;
const maxRoutes = 200;
const shownRoutes = 8;
const shownAlarms = 10;
const dayMs = 24 * hourMs;

export const alarmKinds = ['down', 'faults', 'slow', 'nodes'] as const;

export interface Alarm {
  service: string;
  kind: (typeof alarmKinds)[number];
  /** Failed polls, percent of requests, milliseconds, or nodes that are down. */
  value: number;
  /** The bound; how many nodes there are. */
  threshold: number;
  /** What is wrong, by name. It is not kept. */
  detail?: string;
}

/** The 95th percentile is in seconds. */
export type HistoryPoint = [perSecond: number, faultShare: number, p95: number | null];

export interface RouteHistory {
  service: string;
  route: string;
  count: number;
  faults: number;
  p50: number | null;
  p95: number | null;
}

export interface History {
  start: number;
  stepMs: number;
  /** Null where the service did not answer. */
  services: Record<string, (HistoryPoint | null)[]>;
  routes: RouteHistory[];
}

export interface KeptAlarm extends Alarm {
  raisedAt: number;
  clearedAt: number | null;
  acknowledgedBy: string | null;
}

interface Row {
  service: string;
  time: number;
  route: string;
  count: number;
  faults: number;
  buckets: string;
}

export type HistoryStore = ReturnType<typeof openHistory>;

/** Keeps the load by the minute and routes by the hour, in a SQLite file of the console. */
export function openHistory(path: string) {
  createPrivateFile(path);
  const db = new DatabaseSync(path);
  db.exec(`pragma journal_mode = wal;
    create table if not exists load (service text, time integer, count integer, faults integer, buckets text,
      primary key (service, time)) without rowid;
    create table if not exists route_load (service text, time integer, route text, count integer, faults integer,
      buckets text, primary key (service, time, route)) without rowid;
    create index if not exists load_time on load (time);
    create index if not exists route_load_time on route_load (time);
    create table if not exists alarm (service text, kind text, value real, threshold real, raised_at integer, cleared_at integer,
      acknowledged_by text, acknowledged_at integer)`);
  const findLoad = db.prepare('select count, faults, buckets from load where service = ? and time = ?');
  const putLoad = db.prepare('insert or replace into load values (?, ?, ?, ?, ?)');
  const findRoute = db.prepare(
    'select count, faults, buckets from route_load where service = ? and time = ? and route = ?',
  );
  const putRoute = db.prepare('insert or replace into route_load values (?, ?, ?, ?, ?, ?)');

  function addRoute(service: string, time: number, { method, route, ...load }: RouteLoad): void {
    const name = `${method} ${route}`.slice(0, 300);
    const total = sumUp([load, toTotal(findRoute.get(service, time, name) as Row | undefined)]);
    putRoute.run(service, time, name, total.count, total.faults, toText(total));
  }

  function readPoints(since: number, until: number, stepMs: number): History['services'] {
    const sql = 'select * from load where time >= ? and time < ? order by time';
    const rows = db.prepare(sql).all(since, until) as unknown as Row[];
    const services: History['services'] = {};
    for (const [service, own] of Map.groupBy(rows, (row) => row.service)) {
      const steps = Map.groupBy(own, ({ time }) => Math.floor((time - since) / stepMs));
      services[service] = Array.from({ length: Math.ceil((until - since) / stepMs) }, (_, step) => {
        const found = steps.get(step);
        return found ? toPoint(sumUp(found.map(toTotal)), stepMs / 1000) : null;
      });
    }
    return services;
  }

  return {
    /** A service that did nothing gets a point too. */
    add(service: string, now: number, deltas: RouteLoad[]): void {
      const minute = now - (now % minuteMs);
      const total = sumUp([...deltas, toTotal(findLoad.get(service, minute) as Row | undefined)]);
      db.exec('begin');
      putLoad.run(service, minute, total.count, total.faults, toText(total));
      const busy = deltas.filter(({ count }) => count > 0).slice(0, maxRoutes);
      for (const load of busy) addRoute(service, now - (now % hourMs), load);
      db.exec('commit');
    },

    read({ since: from, until }: { since: number; until: number }): History {
      const stepMs = Math.max(Math.ceil((until - from) / maxPoints / minuteMs), 1) * minuteMs;
      const since = from - (from % minuteMs);
      return { start: since, stepMs, services: readPoints(since, until, stepMs), routes: readRoutes(db, since, until) };
    },

    raise({ service, kind, value, threshold }: Alarm, now: number): void {
      const sql = 'insert into alarm values (?, ?, ?, ?, ?, null, null, null)';
      db.prepare(sql).run(service, kind, value, threshold, now);
    },
    acknowledge({ service, kind }: Alarm, by: string, now: number): void {
      const sql =
        'update alarm set acknowledged_by = ?, acknowledged_at = ? where service = ? and kind = ? and cleared_at is null';
      db.prepare(sql).run(by, now, service, kind);
    },
    clear({ service, kind }: Alarm, now: number): void {
      const sql = 'update alarm set cleared_at = ? where service = ? and kind = ? and cleared_at is null';
      db.prepare(sql).run(now, service, kind);
    },
    listRaised(): KeptAlarm[] {
      return db.prepare(`${selectAlarms} where cleared_at is null`).all() as unknown as KeptAlarm[];
    },

    listAlarms(now: number): KeptAlarm[] {
      const sql = `${selectAlarms} where cleared_at is null or raised_at >= ?
        order by cleared_at is not null, raised_at desc limit ?`;
      return db.prepare(sql).all(now - dayMs, shownAlarms) as unknown as KeptAlarm[];
    },

    forget(before: number): void {
      for (const table of ['load', 'route_load']) db.prepare(`delete from ${table} where time < ?`).run(before);
      db.prepare('delete from alarm where raised_at < ? and cleared_at is not null').run(before);
    },
    close: () => db.close(),
  };
}

const selectAlarms = `select service, kind, value, threshold, raised_at as raisedAt, cleared_at as clearedAt,
  acknowledged_by as acknowledgedBy from alarm`;

function readRoutes(db: DatabaseSync, since: number, until: number): RouteHistory[] {
  const sql = 'select * from route_load where time >= ? and time < ?';
  const rows = db.prepare(sql).all(since - (since % hourMs), until) as unknown as Row[];
  const groups = Map.groupBy(rows, ({ service, route }) => JSON.stringify([service, route])).values();
  const routes = Array.from(groups, (own): RouteHistory => {
    const { count, faults, buckets } = sumUp(own.map(toTotal));
    const { service = '', route = '' } = own[0] ?? {};
    const [p50, p95] = [round(toQuantile(buckets, 0.5)), round(toQuantile(buckets, 0.95))];
    return { service, route, count, faults, p50, p95 };
  });
  const slowest = routes.toSorted((a, b) => (b.p95 ?? 0) - (a.p95 ?? 0)).slice(0, shownRoutes);
  const busiest = routes.toSorted((a, b) => b.count - a.count).slice(0, shownRoutes);
  return [...new Set([...slowest, ...busiest])];
}

function toPoint({ count, faults, buckets }: Total, seconds: number): HistoryPoint {
  return [round(count / seconds), count === 0 ? 0 : round(faults / count), round(toQuantile(buckets, 0.95))];
}

function toTotal(row: Row | undefined): Total {
  if (!row) return { count: 0, faults: 0, buckets: new Map() };
  const pairs = JSON.parse(row.buckets) as [number | null, number][];
  // JSON has no infinity.
  const buckets = new Map(pairs.map(([bound, count]) => [bound ?? Number.POSITIVE_INFINITY, count]));
  return { count: row.count, faults: row.faults, buckets };
}

const toText = ({ buckets }: Total) => JSON.stringify([...buckets]);
