import { DatabaseSync } from 'node:sqlite';
import { createPrivateFile } from '@palaver/store/internal';
import { type RouteLoad, sumUp, type Total, toQuantile } from '../metrics/load.ts';
import type { Alarm } from './find-alarms.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;
const maxPoints = 120;
const maxRoutes = 200;
const shownRoutes = 12;
const shownAlarms = 20;

/** One stretch of time of a service; undefined if the console had no answer from it. */
export interface HistoryPoint {
  perSecond: number;
  faultShare: number;
  p95: number | undefined;
}

export interface RouteHistory {
  service: string;
  route: string;
  count: number;
  faults: number;
  p50: number | undefined;
  p95: number | undefined;
}

export interface History {
  start: number;
  stepMs: number;
  services: Record<string, (HistoryPoint | null)[]>;
  slowRoutes: RouteHistory[];
  alarms: KeptAlarm[];
}

export interface KeptAlarm extends Alarm {
  raisedAt: number;
  clearedAt: number | null;
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

/** What the services did, minute by minute, and their routes hour by hour, in a SQLite file of the console. */
export function openHistory(path: string) {
  createPrivateFile(path);
  const db = new DatabaseSync(path);
  db.exec(`pragma journal_mode = wal;
    create table if not exists load (service text, time integer, count integer, faults integer, buckets text,
      primary key (service, time)) without rowid;
    create table if not exists route_load (service text, time integer, route text, count integer, faults integer,
      buckets text, primary key (service, time, route)) without rowid;
    create table if not exists alarm (service text, kind text, value real, threshold real, raised_at integer, cleared_at integer)`);
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

  function readPoints(since: number, stepMs: number, seconds: number): History['services'] {
    const rows = db.prepare('select * from load where time >= ? order by time').all(since) as unknown as Row[];
    const services: History['services'] = {};
    for (const [service, own] of Map.groupBy(rows, (row) => row.service)) {
      const steps = Map.groupBy(own, ({ time }) => Math.floor((time - since) / stepMs));
      services[service] = Array.from({ length: maxPointsOf(stepMs, since) }, (_, step) => {
        const found = steps.get(step);
        return found ? toPoint(sumUp(found.map(toTotal)), seconds) : null;
      });
    }
    return services;
  }

  return {
    /** Adds what a service did since the last look; nothing of a service that did nothing is a point too. */
    add(service: string, now: number, deltas: RouteLoad[]): void {
      const minute = now - (now % minuteMs);
      const total = sumUp([...deltas, toTotal(findLoad.get(service, minute) as Row | undefined)]);
      db.exec('begin');
      putLoad.run(service, minute, total.count, total.faults, toText(total));
      const busy = deltas.filter(({ count }) => count > 0).slice(0, maxRoutes);
      for (const load of busy) addRoute(service, now - (now % hourMs), load);
      db.exec('commit');
    },

    read(hours: number, now: number): History {
      const stepMs = Math.max(Math.ceil((hours * hourMs) / maxPoints / minuteMs), 1) * minuteMs;
      const since = now - (now % minuteMs) - hours * hourMs + minuteMs;
      return {
        start: since,
        stepMs,
        services: readPoints(since, stepMs, stepMs / 1000),
        slowRoutes: readSlowRoutes(db, since),
        alarms: readAlarms(db, since),
      };
    },

    raise({ service, kind, value, threshold }: Alarm, now: number): void {
      db.prepare('insert into alarm values (?, ?, ?, ?, ?, null)').run(service, kind, value, threshold, now);
    },
    clear({ service, kind }: Alarm, now: number): void {
      const sql = 'update alarm set cleared_at = ? where service = ? and kind = ? and cleared_at is null';
      db.prepare(sql).run(now, service, kind);
    },
    /** Alarms that were raised before the console restarted and have not been cleared. */
    listRaised: () =>
      (db.prepare('select * from alarm where cleared_at is null').all() as unknown as AlarmRow[]).map(toAlarm),

    forget(before: number): void {
      for (const table of ['load', 'route_load']) db.prepare(`delete from ${table} where time < ?`).run(before);
      db.prepare('delete from alarm where raised_at < ? and cleared_at is not null').run(before);
    },
    close: () => db.close(),
  };

  function maxPointsOf(stepMs: number, since: number): number {
    return Math.min(Math.ceil((Date.now() - since) / stepMs), maxPoints);
  }
}

interface AlarmRow extends Alarm {
  raised_at: number;
  cleared_at: number | null;
}

const toAlarm = ({ service, kind, value, threshold, raised_at, cleared_at }: AlarmRow): KeptAlarm => ({
  ...{ service, kind, value, threshold },
  raisedAt: raised_at,
  clearedAt: cleared_at,
});

function readAlarms(db: DatabaseSync, since: number): KeptAlarm[] {
  const sql = 'select * from alarm where cleared_at is null or raised_at >= ? order by raised_at desc limit ?';
  return (db.prepare(sql).all(since, shownAlarms) as unknown as AlarmRow[]).map(toAlarm);
}

function readSlowRoutes(db: DatabaseSync, since: number): RouteHistory[] {
  const sql = 'select * from route_load where time >= ?';
  const rows = db.prepare(sql).all(since - (since % hourMs)) as unknown as Row[];
  return [...Map.groupBy(rows, ({ service, route }) => JSON.stringify([service, route])).values()]
    .map((own) => {
      const { count, faults, buckets } = sumUp(own.map(toTotal));
      const { service = '', route = '' } = own[0] ?? {};
      return { service, route, count, faults, p50: toQuantile(buckets, 0.5), p95: toQuantile(buckets, 0.95) };
    })
    .sort((a, b) => (b.p95 ?? 0) - (a.p95 ?? 0))
    .slice(0, shownRoutes);
}

function toPoint({ count, faults, buckets }: Total, seconds: number): HistoryPoint {
  return { perSecond: count / seconds, faultShare: count === 0 ? 0 : faults / count, p95: toQuantile(buckets, 0.95) };
}

function toTotal(row: Row | undefined): Total {
  if (!row) return { count: 0, faults: 0, buckets: new Map() };
  const pairs = JSON.parse(row.buckets) as [number | null, number][];
  // JSON has no infinity.
  const buckets = new Map(pairs.map(([bound, count]) => [bound ?? Number.POSITIVE_INFINITY, count]));
  return { count: row.count, faults: row.faults, buckets };
}

const toText = ({ buckets }: Total) => JSON.stringify([...buckets]);
