import { z } from 'zod';
import { actionKeywords } from '../actions/actions.ts';
import { suggest } from '../values/fault.ts';

interface Issue {
  path: PropertyKey[];
  message: string;
  keys?: readonly string[];
  values?: readonly unknown[];
  options?: readonly unknown[];
  expected?: string;
  errors?: readonly (readonly Issue[])[];
}

const shapes: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a record',
  record: 'a record',
};

const maxKeys = 20;

/** What is wrong with a value, for people who know YAML and not its schema. */
export function sayIssue(issue: z.core.$ZodIssue, value: unknown, schema: z.ZodType): string {
  const { path, message, keys, values, options, expected, errors }: Issue = issue;
  const name = path.map(String).join('.');
  const given = path.reduce<unknown>((inner, step) => (inner as Record<PropertyKey, unknown>)?.[step], value);
  const where = name === '' ? '' : `${name}: `;
  if (keys) {
    const known = fieldsOf(schema);
    const said = keys.slice(0, maxKeys).map((key) => `there is no field ${key} here${suggest(key, known)}`);
    const more = keys.length > maxKeys ? [`and ${keys.length - maxKeys} more`] : [];
    return `${where}${[...said, ...more].join(', ')}`;
  }
  const allowed = values ?? options;
  if (given === undefined && name !== '' && (allowed || expected || errors)) return `${name} is missing`;
  const [closest] = (errors ?? [])
    .filter(([first]) => first && (first.path.length > 0 || first.keys))
    .sort((one, other) => one.length - other.length);
  if (closest?.[0])
    return sayIssue({ ...closest[0], path: [...path, ...closest[0].path] } as z.core.$ZodIssue, value, schema);
  if (allowed) return `${where}must be one of ${allowed.join(', ')}${suggest(String(given), allowed.map(String))}`;
  const shown = (errors ?? [[{ ...issue, expected }]]).flatMap(([first]: readonly Issue[]) =>
    first?.values ? `one of ${first.values.join(', ')}` : (shapes[first?.expected ?? ''] ?? []),
  );
  const wanted = [...new Set(shown)].join(' or ');
  return wanted !== '' ? `${where}must be ${wanted}` : `${where}${message}`;
}

const fieldsBySchema = new WeakMap<z.ZodType, Set<string>>();

function fieldsOf(schema: z.ZodType): Set<string> {
  const found = fieldsBySchema.get(schema);
  if (found) return found;
  const names = new Set<string>();
  fieldsBySchema.set(schema, names);
  const walk = (node: unknown) => {
    if (typeof node !== 'object' || node === null) return;
    if ('properties' in node) for (const name of Object.keys(node.properties as object)) names.add(name);
    for (const inner of Object.values(node)) walk(inner);
  };
  for (const known of [schema, ...Object.values(actionKeywords).map((keyword) => keyword.schema)])
    walk(z.toJSONSchema(known, { io: 'input', unrepresentable: 'any' }));
  return names;
}
