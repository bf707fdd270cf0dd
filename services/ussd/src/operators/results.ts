import {
  type DeliveryStatus,
  type ListedSet,
  type ResultSource,
  resultSources,
  type UssdResult,
} from '@palaver/contract/internal';
import { mapRows } from '@palaver/store/internal';
import { LRUCache } from 'lru-cache';
import type { Row, RowFilter, Rows } from '../store/rows.ts';

/** The records of a kind, the submissions of a form, or the SMS messages (`sms`) of a program. */
export interface ResultSet {
  program: string;
  source: ResultSource;
  name: string;
}

export interface Result extends UssdResult {
  phoneNumber: string;
}

export interface ResultFilter extends Pick<RowFilter, 'since' | 'until'> {
  status?: DeliveryStatus | undefined;
  column?: string | undefined;
  value?: string | undefined;
  search?: string | undefined;
  /** Only what the reader sees is compared, so that nobody finds a masked number by guessing its digits. */
  show?(result: Result): Result;
}

/** Values may be encrypted, so the database cannot compare them. */
export const maxCompared = 20_000;
/** Counts of this many results are shown again for a minute: counting reads an index entry for each, and pages ask every few seconds. */
const manyResults = 10_000;
const keptCounts = { max: 1_000, ttl: 60_000 };

export function createResults(rows: Rows) {
  async function* readAll(set: ResultSet, filter: ResultFilter): AsyncGenerator<Result[]> {
    for await (const piece of rows.pieces(set.source, toRowFilter(set, filter))) yield piece.map(toResult);
  }
  const kept = new LRUCache<string, Awaited<ReturnType<typeof rows.count<'name' | 'status'>>>>(keptCounts);
  async function countForPage(source: ResultSource, columns: ('name' | 'status')[], filter: RowFilter) {
    const key = JSON.stringify([source, columns, filter]);
    const known = kept.get(key);
    if (known) return known;
    const counted = await rows.count(source, columns, filter);
    if (counted.reduce((sum, row) => sum + row.count, 0) >= manyResults) kept.set(key, counted);
    return counted;
  }
  async function count(set: ResultSet, filter: ResultFilter): Promise<number> {
    const [counted] = await rows.count(set.source, [], toRowFilter(set, filter));
    return counted?.count ?? 0;
  }
  return {
    count,
    async sets(program: string) {
      const lists = resultSources.map(async (source) =>
        toSets(source, await countForPage(source, ['name', 'status'], { program })),
      );
      return (await Promise.all(lists)).flat();
    },
    /** The newest, `limit` of each source. */
    async ofCaller(phone: string, limit: number) {
      const lists = resultSources.map(async (source) =>
        (await rows.page(source, { phone }, { limit })).map((row) => {
          const { phoneNumber: _, ...result } = toResult(row);
          return { ...result, source, program: row.program, name: row.kind ?? row.form_id ?? 'sms' };
        }),
      );
      return (await Promise.all(lists)).flat();
    },
    async page(set: ResultSet, filter: ResultFilter, { limit, offset }: { limit: number; offset: number }) {
      if (!comparesValues(filter)) {
        const wanted = toRowFilter(set, filter);
        const page = await rows.page(set.source, wanted, { limit, offset });
        const [counted] = await countForPage(set.source, [], wanted);
        return { results: page.map(toResult), total: counted?.count ?? 0, isPartial: false };
      }
      const results: Result[] = [];
      let [total, compared] = [0, 0];
      for await (const piece of readAll(set, filter)) {
        compared += piece.length;
        for (const result of await select(piece, filter)) {
          if (total >= offset && results.length < limit) results.push(result);
          total += 1;
        }
        // Values are compared in the newest results only.
        if (compared >= maxCompared) return { results, total, isPartial: (await count(set, filter)) > compared };
      }
      return { results, total, isPartial: false };
    },
    async *all(set: ResultSet, filter: ResultFilter) {
      for await (const piece of readAll(set, filter)) yield await select(piece, filter);
    },
  };
}

export type Results = ReturnType<typeof createResults>;
export type ResultPage = Awaited<ReturnType<Results['page']>>;

const comparesValues = ({ column, search }: ResultFilter) => column !== undefined || search !== undefined;

async function select(piece: Result[], filter: ResultFilter): Promise<Result[]> {
  if (!comparesValues(filter)) return piece;
  const isWanted = await mapRows(piece, (result) => hasValues(result, filter));
  return piece.filter((_, i) => isWanted[i]);
}

function hasValues(result: Result, { column, value = '', search, show }: ResultFilter): boolean {
  const { values } = show ? show(result) : result;
  if (column !== undefined && (values[column] ?? '') !== value) return false;
  if (search === undefined) return true;
  const wanted = search.toLowerCase();
  return Object.values(values).some((text) => text.toLowerCase().includes(wanted));
}

/** Records are not delivered, and the messages of a program are one set. */
function toRowFilter({ program, source, name }: ResultSet, { since, until, status }: ResultFilter): RowFilter {
  const [isRecord, isMessage] = [source === 'records', source === 'messages'];
  return { program, since, until, name: isMessage ? undefined : name, status: isRecord ? undefined : status };
}

function toSets(source: ResultSource, rows: { name: string; status: string; count: number }[]): ListedSet[] {
  return Array.from(
    Map.groupBy(rows, ({ name }) => name),
    ([name, list]) => ({
      source,
      name,
      count: list.reduce((sum, row) => sum + row.count, 0),
      statuses: source === 'records' ? {} : Object.fromEntries(list.map(({ status, count }) => [status, count])),
    }),
  );
}

export function toResult({ id, phone, created_at, fields, answers, status, attempts = 0, fault = null }: Row): Result {
  const values = Object.entries(JSON.parse(fields ?? answers ?? '{}') as Record<string, unknown>);
  return {
    id,
    phoneNumber: phone,
    createdAt: new Date(created_at).toISOString(),
    values: Object.fromEntries(values.map(([name, value]) => [name, toText(value)])),
    ...(status !== undefined && { delivery: { status, attempts, fault } }),
  };
}

function toText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
