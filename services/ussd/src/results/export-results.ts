import type { ResultSource } from '@palaver/contract/internal';
import { toCsvLines } from '@palaver/service-kit/internal';
import type { Result } from './results.ts';

const maxColumns = 2_000;
const columns = ['id', 'phoneNumber', 'createdAt', 'status', 'fault'] as const;

/** Two passes over all results: the columns are known only when every one has been seen. */
export async function* toCsv(
  all: () => AsyncIterable<Result[]>,
  { source, forSpreadsheet = false }: { source: ResultSource; forSpreadsheet?: boolean },
): AsyncGenerator<string> {
  const names = new Set<string>();
  for await (const piece of all())
    for (const { values } of piece)
      for (const name of Object.keys(values)) if (names.size < maxColumns) names.add(name);
  const own = source === 'records' ? columns.slice(0, 3) : columns;
  yield toCsvLines([[...own, ...names]]);
  for await (const piece of all()) {
    const rows = piece.map((result) => {
      const fields = toFields(result);
      return [...own.map((column) => fields[column]), ...Array.from(names, (name) => result.values[name] ?? '')];
    });
    yield toCsvLines(rows, { forSpreadsheet });
  }
}

/** One array, written in pieces. */
export async function* toJson(all: AsyncIterable<Result[]>): AsyncGenerator<string> {
  let separator = '[\n';
  for await (const piece of all) {
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
