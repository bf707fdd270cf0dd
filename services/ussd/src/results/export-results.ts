import { toCsvLines } from '@palaver/service-kit/internal';
import type { Result, ResultFilter, ResultSet, Results } from './results.ts';

const maxColumns = 2_000;
const columns = ['id', 'phoneNumber', 'createdAt', 'status', 'fault'] as const;

/** Two passes: the columns are known only when every result has been seen. */
export async function* toCsv(results: Results, set: ResultSet, filter: ResultFilter): AsyncGenerator<string> {
  const names = new Set<string>();
  for await (const piece of results.all(set, filter))
    for (const { values } of piece)
      for (const name of Object.keys(values)) if (names.size < maxColumns) names.add(name);
  const own = set.source === 'records' ? columns.slice(0, 3) : columns;
  yield toCsvLines([[...own, ...names]]);
  for await (const piece of results.all(set, filter)) {
    const rows = piece.map((result) => {
      const fields = toFields(result);
      return [...own.map((column) => fields[column]), ...Array.from(names, (name) => result.values[name] ?? '')];
    });
    yield toCsvLines(rows);
  }
}

/** One array, written in pieces. */
export async function* toJson(results: Results, set: ResultSet, filter: ResultFilter): AsyncGenerator<string> {
  let separator = '[\n';
  for await (const piece of results.all(set, filter)) {
    for (const result of piece) {
      yield separator + JSON.stringify(result);
      separator = ',\n';
    }
  }
  yield separator === '[\n' ? '[]\n' : '\n]\n';
}

function toFields({ id, phoneNumber, createdAt, delivery }: Result) {
  return { id, phoneNumber, createdAt, status: delivery?.status ?? '', fault: delivery?.fault ?? '' };
}
