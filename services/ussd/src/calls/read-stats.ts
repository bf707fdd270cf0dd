import type { ProgramStats, StateCounts } from '@palaver/contract/internal';
import { type SqlBool, sql } from 'kysely';
import { answerColumns, countColumns, dayMs, statColumns, type UssdStore } from '../store/tables.ts';
import { answerSeconds } from './program-stats.ts';

export interface StatsQuery {
  program: string;
  /** Days since 1970, both included. */
  from: number;
  to: number;
  version?: string | undefined;
  state?: string | undefined;
}

export type StatsReport = Omit<ProgramStats, 'name' | 'from' | 'to'>;

export async function readStats({ readDb }: UssdStore, query: StatsQuery): Promise<StatsReport> {
  const { program, from, to, version, state } = query;
  const ofVersion = version === undefined ? sql`` : sql`and version = ${version}`;
  const isWanted = sql<SqlBool>`program = ${program} and day between ${from} and ${to} ${ofVersion}`;
  const sumBy = async (column: 'state' | 'day' | 'language', ofState?: string) => {
    let statement = readDb
      .selectFrom('ussd_state_stat')
      .where(isWanted)
      .select(column)
      .select(({ fn }) => statColumns.map((name) => fn.sum<number>(name).as(name)))
      .groupBy(column)
      .orderBy(column);
    if (ofState !== undefined) statement = statement.where('state', '=', ofState);
    // A question is part of its state.
    else if (column !== 'state') statement = statement.where('state', 'not like', '%/%');
    const rows = await statement.execute();
    return rows.map((row) => ({ key: row[column] as string | number, ...toCounts(row) }));
  };
  const callStatement = readDb
    .selectFrom('ussd_call_stat')
    .where(isWanted)
    .select(['day', 'version', 'calls', 'returning_calls', 'text_calls'])
    .orderBy('day');
  const [states, days, languages, calls] = await Promise.all([
    sumBy('state'),
    sumBy('day', state),
    sumBy('language', state),
    callStatement.execute(),
  ]);
  const sumCalls = (rows: typeof calls) => ({
    calls: rows.reduce((sum, row) => sum + row.calls, 0),
    returning: rows.reduce((sum, row) => sum + row.returning_calls, 0),
    texting: rows.reduce((sum, row) => sum + row.text_calls, 0),
  });
  const byVersion = Map.groupBy(calls, (row) => row.version);
  const byDay = Map.groupBy(calls, (row) => row.day);
  return {
    states: states.map(({ key, ...counts }) => ({ state: String(key), ...counts })),
    days: days.map(({ key, ...counts }) => ({
      day: toDate(Number(key)),
      ...sumCalls(byDay.get(Number(key)) ?? []),
      ...counts,
    })),
    languages: languages.map(({ key, ...counts }) => ({ language: String(key), ...counts })),
    versions: Array.from(byVersion, ([name, rows]) => ({ version: name, ...sumCalls(rows) })),
  };
}

function toCounts(row: Record<(typeof statColumns)[number], unknown>): StateCounts {
  const [shown = 0, answered = 0, refused = 0, back = 0, exited = 0, timedOut = 0] = countColumns.map((name) =>
    Number(row[name]),
  );
  const times = answerColumns.map((name) => Number(row[name]));
  return { shown, answered, refused, back, exited, timedOut, medianSeconds: toMedian(times) };
}

/** The median, assuming that the answers of an interval are spread evenly. */
export function toMedian(times: readonly number[]): number | null {
  const total = times.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let before = 0;
  const at = times.findIndex((count) => {
    if (before + count >= total / 2) return true;
    before += count;
    return false;
  });
  const lower = answerSeconds[at - 1] ?? 0;
  const upper = answerSeconds[at] ?? lower;
  const share = (total / 2 - before) / (times[at] ?? 1);
  return Math.round((lower + share * (upper - lower)) * 10) / 10;
}

export const toDate = (day: number) => new Date(day * dayMs).toISOString().slice(0, 10);
