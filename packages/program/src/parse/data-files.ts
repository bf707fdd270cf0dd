import Papa from 'papaparse';
import { type DataFile, type Row, toRows } from '../model/rows.ts';
import type { Fault } from '../values/fault.ts';
import type { ValueType } from '../values/value-types.ts';
import { parseYaml } from './parse-yaml.ts';
import type { ProgramSource } from './program-source.ts';

const maxRows = 5_000;
/** Short rows below a long line of names would fill the memory with empty cells. */
const maxColumns = 200;

export function parseDataFiles({ files }: ProgramSource): { data: Map<string, DataFile>; faults: Fault[] } {
  const data = new Map<string, DataFile>();
  const faults: Fault[] = [];
  for (const { file, path, text } of files.filter(({ path }) => path.startsWith('data/'))) {
    const parsed = path.endsWith('.csv') ? parseCsv(text) : parseRows(file, text);
    if ('message' in parsed) {
      faults.push({ file, ...parsed });
      continue;
    }
    const { rows } = parsed;
    const broken = rows.flatMap(Object.values<string>).find((cell) => /^\d(?:[.,]\d+)?E\+\d+$/i.test(cell));
    const message = `${broken} is a long number that a spreadsheet has cut; make its column text`;
    if (broken !== undefined) faults.push({ file, line: 1, message });
    const columns = Array.from(namesOf(rows), (name) => [name, typeOf(rows.map((row) => row[name] ?? ''))] as const);
    data.set(path, { rows, columns: new Map(columns) });
  }
  return { data, faults };
}

const namesOf = (rows: readonly Row[]) => new Set(rows.flatMap((row) => Object.keys(row)));

function sizeFault(rows: number, columns: number): string | undefined {
  if (rows > maxRows) return `there are more than ${maxRows} rows: leave some out, or ask a server by an http action`;
  return columns > maxColumns ? `there are more than ${maxColumns} columns: leave some out` : undefined;
}

function typeOf(cells: string[]): ValueType {
  if (cells.length > 0 && cells.every((cell) => cell === 'true' || cell === 'false')) return 'boolean';
  // A number that begins with 0, such as a phone number, is a text.
  if (cells.every((cell) => /^-?(?:0|[1-9]\d{0,14})$/.test(cell))) return 'integer';
  return cells.every((cell) => /^-?(?:0|[1-9]\d{0,11})(?:\.\d{1,6})?$/.test(cell)) ? 'decimal' : 'text';
}

/** The first line has the names of the columns. */
function parseCsv(text: string): { rows: Row[] } | { line: number; message: string } {
  // A line more than the bound is enough to know that there are too many.
  const { data, errors } = Papa.parse<string[]>(text.replace(/^\uFEFF/, ''), {
    delimiter: ',',
    skipEmptyLines: 'greedy',
    preview: maxRows + 2,
  });
  const [fault] = errors;
  if (fault)
    return { line: (fault.row ?? 0) + 1, message: `a quote is not closed, or text follows it: "" is one quote` };
  const [names = [], ...lines] = data.map((cells) => cells.map((cell) => cell.trim()));
  const message = sizeFault(lines.length, names.length);
  if (message !== undefined) return { line: 1, message };
  return { rows: lines.map((cells) => Object.fromEntries(names.map((name, i) => [name, cells[i] ?? '']))) };
}

function parseRows(file: string, text: string): ReturnType<typeof parseCsv> {
  // JSON is YAML.
  const { value, faults } = parseYaml(file, text);
  const rows = faults.length === 0 ? toRows(value) : undefined;
  const message = rows
    ? sizeFault(rows.length, namesOf(rows).size)
    : 'must be a list of records, such as [{ name: Maize }]';
  return rows && message === undefined ? { rows } : { line: 1, message: message ?? '' };
}
