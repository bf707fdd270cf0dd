import { createNumberMask, toCsvLines } from '@palaver/service-kit/internal';
import { mapRows } from '@palaver/store/internal';
import type { FastifyRequest } from 'fastify';
import type { StoredSubmission } from '../outgoing/submissions.ts';

/** Viewers see masked phone numbers, in answers too. */
export function showCallersTo(
  operator: FastifyRequest['operator'],
): <Row extends { phoneNumber: string }>(row: Row) => Row {
  return operator?.role === 'viewer' ? maskCaller : (row) => row;
}

function maskCaller<Row extends { phoneNumber: string }>(row: Row): Row {
  const maskText = createNumberMask(row.phoneNumber);
  const mask = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(mask);
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([name, field]) => [maskText(name), mask(field)]));
    if (typeof value !== 'string' && typeof value !== 'number') return value;
    const masked = maskText(String(value));
    return masked === String(value) ? value : masked;
  };
  return mask(row) as Row;
}

export type Pieces<Row> = AsyncIterable<readonly Row[]>;

export async function* mapPieces<From, To>(pieces: Pieces<From>, toRow: (row: From) => To): AsyncGenerator<To[]> {
  for await (const piece of pieces) yield await mapRows(piece, toRow);
}

const maxColumns = 2_000;

export interface CsvOptions<Row> {
  columns: readonly string[];
  valuesOf?(row: Row): Readonly<Record<string, string>>;
  forSpreadsheet?: boolean | undefined;
}

/** Two passes: the columns of values are known only when every row has been read. */
export async function* toCsv<Row extends object>(
  all: () => Pieces<Row>,
  { columns, valuesOf, forSpreadsheet = false }: CsvOptions<Row>,
): AsyncGenerator<string> {
  const names = new Set<string>();
  for await (const piece of valuesOf ? all() : []) {
    for (const row of piece) for (const name in valuesOf?.(row)) if (names.size < maxColumns) names.add(name);
    // The reader may be gone: only a pass that yields something can be ended.
    yield '';
  }
  yield toCsvLines([[...columns, ...names]]);
  for await (const piece of all()) {
    const toCells = (row: Row) => {
      const values = valuesOf?.(row) ?? {};
      const own = columns.map((column) => String((row as Record<string, unknown>)[column] ?? ''));
      return [...own, ...Array.from(names, (name) => values[name] ?? '')];
    };
    yield toCsvLines(piece.map(toCells), { forSpreadsheet });
  }
}

export async function* toJson(all: Pieces<object>): AsyncGenerator<string> {
  let separator = '[\n';
  for await (const piece of all) {
    for (const row of piece) {
      yield separator + JSON.stringify(row);
      separator = ',\n';
    }
  }
  yield separator === '[\n' ? '[]\n' : '\n]\n';
}

export async function* toJsonLines(all: Pieces<object>): AsyncGenerator<string> {
  for await (const piece of all) for (const row of piece) yield `${JSON.stringify(row)}\n`;
}

export async function* toXml(all: Pieces<StoredSubmission>): AsyncGenerator<string> {
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<submissions>\n';
  for await (const piece of all) for (const { xml = '' } of piece) yield `${xml}\n`;
  yield '</submissions>\n';
}

export const submissionCsv: CsvOptions<StoredSubmission> = {
  columns: ['instanceId', 'formId', 'formVersion', 'phoneNumber', 'createdAt', 'status'],
  valuesOf: ({ answers }) => answers,
};
