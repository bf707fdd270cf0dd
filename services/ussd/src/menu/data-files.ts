import type { Fault } from './fault.ts';
import { parseYaml } from './parse-yaml.ts';
import type { ProgramSource } from './program-source.ts';
import type { ValueType } from './value-types.ts';

export type Row = Readonly<Record<string, string>>;

/** A CSV or JSON file of a program as rows, with the type of each column. */
export interface DataFile {
  rows: readonly Row[];
  columns: ReadonlyMap<string, ValueType>;
}

const maxRows = 5_000;

export function parseDataFiles({ files }: ProgramSource): { data: Map<string, DataFile>; faults: Fault[] } {
  const data = new Map<string, DataFile>();
  const faults: Fault[] = [];
  for (const { file, path, text } of files.filter(({ path }) => path.startsWith('data/'))) {
    const rows = path.endsWith('.csv') ? parseCsv(text) : parseRows(file, text);
    if (!rows || rows.length > maxRows) {
      const message = rows ? `more than ${maxRows} rows` : 'expected a list of records';
      faults.push({ file, line: 1, message });
      continue;
    }
    const broken = rows.flatMap(Object.values<string>).find((cell) => /^\d(?:[.,]\d+)?E\+\d+$/i.test(cell));
    if (broken !== undefined)
      faults.push({
        file,
        line: 1,
        message: `${broken} is a long number that a spreadsheet has cut; make its column text`,
      });
    const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    data.set(path, { rows, columns: new Map(names.map((name) => [name, typeOf(rows.map((row) => row[name] ?? ''))])) });
  }
  return { data, faults };
}

function typeOf(cells: string[]): ValueType {
  if (cells.length > 0 && cells.every((cell) => cell === 'true' || cell === 'false')) return 'boolean';
  // A number that begins with 0, such as a phone number, is a text.
  if (cells.every((cell) => /^-?(?:0|[1-9]\d{0,14})$/.test(cell))) return 'integer';
  return cells.every((cell) => /^-?(?:0|[1-9]\d{0,11})(?:\.\d{1,6})?$/.test(cell)) ? 'decimal' : 'text';
}

/** RFC 4180, the first line being the names of the columns. */
function parseCsv(text: string): Row[] {
  const lines: string[][] = [[]];
  for (const [, cell = '', end] of text.replace(/^\uFEFF/, '').matchAll(/("(?:[^"]|"")*"|[^,\r\n]*)(,|\r?\n|$)/g)) {
    lines.at(-1)?.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell.trim());
    if (end !== ',') lines.push([]);
  }
  const [names = [], ...rows] = lines.filter((cells) => cells.some((cell) => cell !== ''));
  return rows.map((cells) => Object.fromEntries(names.map((name, i) => [name, cells[i] ?? ''])));
}

function parseRows(file: string, text: string): Row[] | undefined {
  // JSON is YAML.
  const { value, faults } = parseYaml(file, text);
  return faults.length === 0 ? toRows(value) : undefined;
}

/** Records of any list; `undefined` if it is not a list. A plain item is a record with the field `value`. */
export function toRows(value: unknown): Row[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.map((item) => {
    const fields = typeof item === 'object' && item !== null ? item : { value: item };
    return Object.fromEntries(
      Object.entries(fields).map(([name, cell]) => [
        name,
        typeof cell === 'object' && cell !== null ? JSON.stringify(cell) : String(cell ?? ''),
      ]),
    );
  });
}
