import { z } from 'zod';
import { type Check, expression, nameSchema } from '../actions/keyword.ts';
import { whereSchema } from '../actions/records.ts';
import type { Dialogue } from '../model/dialogue.ts';
import { evaluate, filterRows } from '../model/evaluate.ts';
import { type Menu, type Option, type Row, toRows } from '../model/menu.ts';
import { suggest } from '../values/fault.ts';
import { searchAbove, toChoiceKey, toSearchable } from '../values/keys.ts';
import { fromExpressionValue, parseJson, toExpressionValue } from '../values/value-types.ts';
import type { Declared, GivenType } from './kind.ts';

const fieldSchema = z.string().min(1).max(60);

export const fromSchema = z
  .strictObject({
    csv: z.string().exactOptional(),
    json: z.string().exactOptional(),
    list: expression({ wanted: 'list' }).exactOptional(),
    text: fieldSchema,
    save: z.record(nameSchema, fieldSchema).default({}),
    where: whereSchema.exactOptional(),
  })
  .refine(
    ({ csv, json, list }) => [csv, json, list].filter(Boolean).length === 1,
    'needs exactly one of `csv`, `json` and `list`',
  );
export type ListSource = z.infer<typeof fromSchema>;

const fileOf = ({ csv, json }: ListSource) => csv ?? json ?? '';

export const columnsOf = (from: ListSource, { data }: Pick<Menu, 'data'>) => data.get(fileOf(from))?.columns;

export function givenByRows(from: ListSource, declared: Declared): [string, GivenType][] {
  const columns = columnsOf(from, declared);
  return Object.entries(from.save).map(([name, field]) => [name, columns?.get(field) ?? 'any']);
}

export function checkList(from: ListSource, { data, say }: Check): void {
  const { csv, list, text, save } = from;
  if (list !== undefined) return;
  const path = fileOf(from);
  const columns = columnsOf(from, { data });
  if (!columns) say(['from', csv ? 'csv' : 'json'], `there is no file ${path}${suggest(path, data.keys())}`);
  for (const column of [text, ...Object.values(save)])
    if (columns && !columns.has(column))
      say(['from', 'text'], `${path} has no column ${column}${suggest(column, columns.keys())}`);
}

export function cellsOf({ data }: Menu, from: ListSource, field: string, language: string): string[] {
  return data.get(fileOf(from))?.rows.map((row) => cellOf(row, field, language)) ?? [];
}

const maxShown = 500;

export function toListOptions(menu: Menu, dialogue: Dialogue, list: { from: ListSource; to: string }): Option[] {
  const { from, to } = list;
  const wanted = toSearchable(dialogue.search ?? '');
  const { language } = dialogue;
  return findRows(menu, from, dialogue)
    .filter((row) => wanted === '' || toSearchable(cellOf(row, from.text, language)).includes(wanted))
    .slice(0, maxShown)
    .map((row, i) => ({
      key: toChoiceKey(i),
      text: '',
      label: cellOf(row, from.text, language),
      to,
      set: Object.fromEntries(Object.entries(from.save).map(([name, field]) => [name, cellOf(row, field, language)])),
    }));
}

/** A column may have others beside it for further languages, as in an XLSForm: `name` and `name::fr`. */
const cellOf = (row: Row, field: string, language: string) => row[`${field}::${language}`] || (row[field] ?? '');

export const isSearchable = (menu: Menu, from: ListSource, dialogue: Dialogue): boolean =>
  findRows(menu, from, dialogue).length > searchAbove;

/** The rows last found for a dialogue: its screen needs them several times. */
const lastFound = new WeakMap<Dialogue, { from: ListSource; rows: readonly Row[] }>();

function findRows(menu: Menu, from: ListSource, dialogue: Dialogue): readonly Row[] {
  const last = lastFound.get(dialogue);
  if (last?.from === from) return last.rows;
  const { where, list = '[]' } = from;
  const file = menu.data.get(fileOf(from));
  const value = file ? undefined : evaluate(menu, dialogue, list);
  const all = file?.rows ?? toRows(parseJson(value === undefined ? '[]' : fromExpressionValue(value))) ?? [];
  const toValue = ([name, cell]: [string, string]) => [name, toExpressionValue(cell, file?.columns.get(name) ?? 'any')];
  const toRow = (row: Row) => Object.fromEntries(Object.entries(row).map(toValue));
  const rows = where === undefined ? all : filterRows(menu, dialogue, { rows: all, where, toRow });
  lastFound.set(dialogue, { from, rows });
  return rows;
}
