import { toRecord } from './read-program.ts';

/** Those for other languages, such as `name::fr`, are left out. */
export function listColumns(path: string, text: string): string[] {
  const names = path.endsWith('.csv') ? toCells(text.split('\n', 1)[0] ?? '') : Object.keys(readRows(text)[0] ?? {});
  return names.filter((name) => name !== '' && !name.includes('::'));
}

/** As the service finds it: a number that begins with 0 is a text. */
export function columnType(path: string, text: string, column: string): 'boolean' | 'integer' | 'decimal' | 'text' {
  const cells = path.endsWith('.csv')
    ? readColumn(text, column)
    : readRows(text).map((row) => String(row[column] ?? ''));
  const isEvery = (pattern: RegExp) => cells.length > 0 && cells.every((cell) => pattern.test(cell));
  if (isEvery(/^(?:true|false)$/)) return 'boolean';
  if (isEvery(/^-?(?:0|[1-9]\d{0,14})$/)) return 'integer';
  return isEvery(/^-?(?:0|[1-9]\d{0,11})(?:\.\d{1,6})?$/) ? 'decimal' : 'text';
}

function readColumn(text: string, column: string): string[] {
  const [head = [], ...rows] = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(toCells);
  const at = head.indexOf(column);
  return rows.map((cells) => cells[at] ?? '');
}

const toCells = (line: string): string[] =>
  Array.from(line.replace(/^\uFEFF/, '').matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g), ([, quoted, plain = '']) =>
    (quoted?.replaceAll('""', '"') ?? plain).trim(),
  );

function readRows(text: string): Record<string, unknown>[] {
  try {
    const rows: unknown = JSON.parse(text);
    return Array.isArray(rows) ? rows.map(toRecord) : [];
  } catch {
    return [];
  }
}
