import { z } from 'zod';
import type { ActionSignature } from '../model/menu.ts';
import { suggest } from '../values/fault.ts';
import { resultTypes } from '../values/infer-type.ts';
import { type Check, conditionSchema, expression, nameSchema } from './keyword.ts';

export const kindSchema = nameSchema.meta({ description: 'A kind of `records` in program.yaml' });
export const whereSchema = expression({ wanted: 'bool', sees: 'row' }).meta({
  description: 'An expression over `row` that keeps it',
});
export const ownerSchema = z.enum(['caller', 'everyone']).default('caller').meta({ description: 'Whose records' });

const totalPattern = /^(?:count\(\)|(sum|min|max)\((\w+)\))$/;

export function parseTotal(source: string): { compute: 'count' | 'sum' | 'min' | 'max'; field: string } {
  const [, compute = 'count', field = ''] = totalPattern.exec(source) ?? [];
  return { compute: compute as 'sum' | 'min' | 'max', field };
}

export const totalsFields = {
  of: ownerSchema,
  where: whereSchema.exactOptional(),
  save: z
    .record(
      nameSchema,
      z.string().regex(totalPattern, 'must be count(), or sum, min or max of a field, such as sum(amount)'),
    )
    .meta({ description: 'What each value is: `count()`, `sum(FIELD)`, `min(FIELD)` or `max(FIELD)`' }),
};

export type Totals = z.infer<z.ZodObject<typeof totalsFields>>;

export const checkSchema = z.strictObject({ ...totalsFields, that: conditionSchema }).meta({
  description:
    '`of`, `where` and `save` as in a `total` over the records of this kind; `that`: a condition over them. It is computed together with the write, so calls at the same time pass it one after the other',
});
export type RecordCheck = z.infer<typeof checkSchema>;
export const refused = '`check` does not hold, and nothing is written';

const totalTypes = { count: 'integer', sum: 'decimal', min: 'any', max: 'any' } as const;

export function totalValues({ save }: Pick<Totals, 'save'>) {
  const types = Object.entries(save).map(([name, source]) => [name, totalTypes[parseTotal(source).compute]] as const);
  return Object.fromEntries(types);
}

/** A write without a check cannot be refused. */
export function writeSignature(done: string[], check: RecordCheck | undefined): Partial<ActionSignature> {
  return check ? { values: totalValues(check) } : { outcomes: done, values: {} };
}

interface UsedRecord {
  keyword: string;
  kind: string;
  fields?: Readonly<Record<string, string>>;
  check?: RecordCheck;
  save?: Totals['save'];
}

export function checkRecord(
  { keyword, kind, fields = {}, check, save = check?.save ?? {} }: UsedRecord,
  { say, expressions, records }: Check,
): void {
  const known = Object.hasOwn(records, kind) ? records[kind] : undefined;
  if (!known) {
    say([keyword], `program.yaml declares no record ${kind}${suggest(kind, Object.keys(records))}`);
    return;
  }
  const typeOf = (field: string, path: PropertyKey[]) => {
    const type = Object.hasOwn(known, field) ? known[field] : undefined;
    if (!type) say(path, `the record ${kind} has no field ${field}${suggest(field, Object.keys(known))}`);
    return type;
  };
  for (const [value, source] of Object.entries(save)) {
    const path = [...(check ? ['check'] : []), 'save', value];
    const { compute, field } = parseTotal(source);
    const type = compute === 'count' ? undefined : typeOf(field, path);
    if (compute === 'sum' && type && type !== 'integer' && type !== 'decimal')
      say(path, `${source} needs a field of numbers, and its type is ${type}`);
  }
  for (const [field, source] of Object.entries(fields)) {
    const type = typeOf(field, ['fields', field]);
    if (!type) continue;
    const given = expressions.get(source)?.type ?? 'dyn';
    const wanted = resultTypes[type];
    const isConverted = (wanted === 'number' && given === 'integer') || (type === 'text' && given === 'list');
    if (given !== 'dyn' && given !== wanted && !isConverted)
      say(['fields', field], `${source} does not fit the type ${type} of ${field}`);
  }
}
