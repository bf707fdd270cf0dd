import Papa from 'papaparse';
import type { FormSource } from '../model/dialogue.ts';
import { type DataFile, type Row, toRows } from '../model/menu.ts';
import type { Fault } from '../values/fault.ts';
import type { ValueType } from '../values/value-types.ts';
import { parseYaml } from './parse-yaml.ts';

export interface SourceFile {
  file: string;
  /** Relative to the program's folder, with slashes: `program.yaml`, `locales/en.yaml`, `data/markets.csv`. */
  path: string;
  text: string;
}

export interface ProgramSource {
  name: string;
  files: readonly SourceFile[];
}

export const programFile = 'program.yaml';

export const languageOf = (path: string): string | undefined => /^locales\/([^/]+)\.ya?ml$/.exec(path)?.[1];

export const isMenuPath = (path: string): boolean => /^[^/]+\.ya?ml$/.test(path);

/** The forms of a program, by their path, each with the files of its folder or of the folder of its own name. */
export function toFormSources({ files }: ProgramSource): Map<string, FormSource> {
  const own = files.filter(({ path }) => path.startsWith('forms/'));
  const forms = own.filter(({ path }) => /^forms\/(server\/)?[^/]+\.(xml|xlsx)$/.test(path));
  return new Map(
    forms.map(({ path, text }) => {
      const folders = [path.replace(/[^/]+$/, ''), `${path.replace(/\.\w+$/, '')}/`];
      const near = own.flatMap((file) => {
        const name = file.path.slice(file.path.lastIndexOf('/') + 1);
        return folders.includes(file.path.slice(0, -name.length)) ? [[name, file.text] as const] : [];
      });
      return [path, { xml: text.replace(/^\uFEFF/, '').trim(), attachments: Object.fromEntries(near) }];
    }),
  );
}

const maxRows = 5_000;
/** Blank ones included. */
const maxLines = 4 * maxRows;
/** Short rows below a long line of names would fill the memory with empty cells. */
const maxColumns = 200;

export function parseDataFiles({ files }: ProgramSource): { data: Map<string, DataFile>; faults: Fault[] } {
  const data = new Map<string, DataFile>();
  const faults: Fault[] = [];
  for (const { file, path, text } of files.filter(({ path }) => path.startsWith('data/'))) {
    const { rows = [], ...fault } = path.endsWith('.csv') ? parseCsv(text) : parseRows(file, text);
    const broken = rows.flatMap(Object.values<string>).find((cell) => /^\d(?:[.,]\d+)?E\+\d+$/i.test(cell));
    const cut = `${broken} is a long number that a spreadsheet has cut; make its column text`;
    const { line = 1, message = broken === undefined ? undefined : cut } = fault;
    if (message !== undefined) faults.push({ file, line, message });
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

/** The first line has the names of the columns. Blank cells at the end of a line do not count. */
function parseCsv(text: string): { rows?: Row[]; line?: number; message?: string } {
  const { data, errors } = Papa.parse<string[]>(text.replace(/^\uFEFF/, ''), { delimiter: ',', preview: maxLines });
  let line = 1;
  const lines = data.map((read) => {
    const cells = read.map((cell) => cell.trim()).slice(0, read.findLastIndex((cell) => cell.trim() !== '') + 1);
    const begin = line;
    line += 1 + read.join('').split('\n').length - 1;
    return { line: begin, cells };
  });
  const [fault] = errors;
  const unclosed = 'a quote is not closed, or text follows it: "" is one quote';
  if (fault) return { line: lines[fault.row ?? 0]?.line ?? 1, message: unclosed };
  const [head, ...rows] = lines.filter(({ cells }) => cells.length > 0);
  const names = head?.cells ?? [];
  const message = sizeFault(data.length < maxLines ? rows.length : data.length, names.length) ?? headFault(names);
  if (message !== undefined) return { line: head?.line ?? 1, message };
  const long = rows.find(({ cells }) => cells.length > names.length);
  const remedy = 'write a value with a comma in quotes, "1,5", or name the column';
  const counts = `${long?.cells.length} cells, and the first line names ${names.length} columns`;
  if (long) return { line: long.line, message: `${counts}: ${remedy}` };
  return { rows: rows.map(({ cells }) => Object.fromEntries(names.map((name, i) => [name, cells[i] ?? '']))) };
}

function headFault(names: string[]): string | undefined {
  if (names.some((name) => /[;\t]/.test(name)))
    return 'save the file with commas between the columns, not semicolons or tabs';
  const empty = names.indexOf('');
  if (empty >= 0) return `column ${empty + 1} has no name: write one into the first line`;
  const twice = names.find((name, i) => names.indexOf(name) < i);
  return twice === undefined ? undefined : `two columns have the name ${twice}: give each its own`;
}

function parseRows(file: string, text: string): ReturnType<typeof parseCsv> {
  const { value, faults } = parseYaml(file, text);
  const rows = faults.length === 0 ? toRows(value) : undefined;
  if (!rows) return { message: 'must be a list of records, such as [{ name: Maize }]' };
  const message = sizeFault(rows.length, namesOf(rows).size);
  return message === undefined ? { rows } : { message };
}
