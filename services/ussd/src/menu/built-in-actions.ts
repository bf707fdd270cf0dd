import { z } from 'zod';
import type { ActionSignature } from './menu.ts';
import type { ValueType } from './value-types.ts';

export const nameSchema = z.string().regex(/^[a-zA-Z][a-zA-Z0-9]*$/, 'a name of letters and digits');
/** YAML reads `true`, `5` and `amount > 5` as what they are; an expression is always its text. */
export const expressionSchema = z.union([z.string().min(1).max(1_000), z.number(), z.boolean()]).transform(String);

/** The types of a record's fields. */
export const fieldTypes = ['text', 'integer', 'decimal', 'date', 'phone', 'boolean'] as const;
export const recordsSchema = z.record(nameSchema, z.record(nameSchema, z.enum(fieldTypes)));
export type Records = z.infer<typeof recordsSchema>;

const fieldsSchema = z.record(nameSchema, expressionSchema);
const pathSchema = z.string().regex(/^\$(?:\.\w+|\[\d+\])*$/, 'a path such as $.latest.price');

/** The keywords of actions that need no code. Adding one is an entry here and a run beside `actions/record-actions.ts`. */
export const builtInSchemas = {
  store: {
    about: 'Keeps a record of a kind that `records` of program.yaml declares, once for each pass.',
    schema: z.strictObject({ store: nameSchema, fields: fieldsSchema }),
    outcomes: ['stored'],
    finishes: true,
  },
  find: {
    about: "Reads records into a list, newest first: the caller's own, or everyone's with `of: everyone`.",
    schema: z.strictObject({
      find: nameSchema,
      of: z.enum(['caller', 'everyone']).default('caller'),
      where: expressionSchema.exactOptional(),
      save: nameSchema,
      limit: z.int().min(1).max(200).default(50),
    }),
    outcomes: ['found', 'none'],
    finishes: false,
  },
  update: {
    about: 'Changes the records of the caller for which `where` holds.',
    schema: z.strictObject({ update: nameSchema, where: expressionSchema, fields: fieldsSchema }),
    outcomes: ['updated', 'none'],
    finishes: true,
  },
  http: {
    about: 'Asks a server over HTTPS and takes values from its JSON. `missing` is status 404.',
    schema: z.strictObject({
      http: z.strictObject({
        get: z.string().exactOptional(),
        post: z.string().exactOptional(),
        headers: z.record(z.string().regex(/^[\w-]+$/), z.string().max(500)).default({}),
        body: fieldsSchema.exactOptional(),
        timeout: z
          .string()
          .regex(/^[1-8]s$/, 'from 1s to 8s')
          .default('4s'),
      }),
      take: z.record(nameSchema, pathSchema).default({}),
    }),
    outcomes: ['ok', 'missing', 'failed'],
    finishes: false,
  },
} as const;

export type BuiltInName = keyof typeof builtInSchemas;
export type BuiltIn<Name extends BuiltInName = BuiltInName> = z.infer<(typeof builtInSchemas)[Name]['schema']>;
export const builtInNames = Object.keys(builtInSchemas) as BuiltInName[];

/** Expressions of a built-in action, with where they are. */
export function builtInExpressions(
  spec: BuiltIn,
): { source: string; path: PropertyKey[]; hasRow?: boolean; wanted?: 'bool' }[] {
  const fields = 'fields' in spec ? spec.fields : 'http' in spec ? (spec.http.body ?? {}) : {};
  const at = 'http' in spec ? ['http', 'body'] : ['fields'];
  const all: ReturnType<typeof builtInExpressions> = Object.entries(fields).map(([name, source]) => ({
    source,
    path: [...at, name],
  }));
  if ('where' in spec && spec.where !== undefined)
    all.push({ source: spec.where, path: ['where'], hasRow: true, wanted: 'bool' });
  return all;
}

export function builtInSignature(name: BuiltInName, spec: BuiltIn): ActionSignature {
  const values: Record<string, ValueType> = {};
  if ('find' in spec) values[spec.save] = 'list';
  if ('take' in spec) for (const taken of Object.keys(spec.take)) values[taken] = 'any';
  const { outcomes, finishes } = builtInSchemas[name];
  return { outcomes, finishes, values };
}
