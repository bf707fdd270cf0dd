import { type DataFile, type Row, toRows } from './data-files.ts';
import type { Dialogue } from './dialogue.ts';
import { evaluate, filterRows } from './evaluate.ts';
import { type ListSource, type Menu, type MenuState, type Option, reservedKeys } from './menu.ts';
import { fromExpressionValue, parseJson, toExpressionValue } from './value-types.ts';

/** A list with more rows than this can be searched by typing. */
export const searchAbove = 9;
const maxShown = 500;

/** The options that a menu makes from data: those whose label holds what was searched for. */
export function toListOptions(menu: Menu, { from, to }: MenuState, dialogue: Dialogue): Option[] {
  if (!from || to === undefined) return [];
  const wanted = toSearchable(dialogue.search ?? '');
  const { language } = dialogue;
  return findRows(menu, from, dialogue)
    .filter((row) => wanted === '' || toSearchable(cellOf(row, from.text, language)).includes(wanted))
    .slice(0, maxShown)
    .map((row, i) => ({
      key: toKey(i),
      text: '',
      label: cellOf(row, from.text, language),
      to,
      set: Object.fromEntries(Object.entries(from.save).map(([name, field]) => [name, cellOf(row, field, language)])),
    }));
}

/** A column may have others beside it for further languages, as in an XLSForm: `name` and `name::fr`. */
export function cellOf(row: Row, field: string, language: string): string {
  return row[`${field}::${language}`] || (row[field] ?? '');
}

/** Whether the whole list is long enough to be searched. */
export function isSearchable(menu: Menu, { from }: MenuState, dialogue: Dialogue): boolean {
  return from !== undefined && findRows(menu, from, dialogue).length > searchAbove;
}

/** The rows last found for a dialogue: its screen needs them several times. */
const lastFound = new WeakMap<Dialogue, { from: ListSource; rows: readonly Row[] }>();

function findRows(menu: Menu, from: ListSource, dialogue: Dialogue): readonly Row[] {
  const last = lastFound.get(dialogue);
  if (last?.from === from) return last.rows;
  const rows = selectRows(menu, from, dialogue);
  lastFound.set(dialogue, { from, rows });
  return rows;
}

function selectRows(menu: Menu, from: ListSource, dialogue: Dialogue): readonly Row[] {
  const file = menu.data.get(from.csv ?? from.json ?? '');
  const rows = file ? file.rows : listOf(menu, dialogue, from.list ?? '[]');
  const { where } = from;
  if (where === undefined) return rows;
  return filterRows(menu, dialogue, { rows, where, toRow: (row) => toRecord(row, file) });
}

function listOf(menu: Menu, dialogue: Dialogue, list: string): Row[] {
  const value = evaluate(menu, dialogue, list);
  return toRows(parseJson(value === undefined ? '[]' : fromExpressionValue(value))) ?? [];
}

function toRecord(row: Row, file: DataFile | undefined) {
  return Object.fromEntries(
    Object.entries(row).map(([name, cell]) => [name, toExpressionValue(cell, file?.columns.get(name) ?? 'any')]),
  );
}

/** 1, 2, 3 … without the key of More. */
function toKey(index: number): string {
  return String(index + 1 < Number(reservedKeys.more) ? index + 1 : index + 2);
}

function toSearchable(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}
