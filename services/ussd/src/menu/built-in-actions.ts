import { z } from 'zod';
import type { ActionSignature } from './action-signature.ts';
import type { ValueType } from './value-types.ts';

export const nameSchema = z.string().regex(/^[a-zA-Z][a-zA-Z0-9]*$/, 'a name of letters and digits');
/** YAML reads `true`, `5` and `amount > 5` as what they are; an expression is always its text. */
export const expressionSchema = z.union([z.string().min(1).max(1_000), z.number(), z.boolean()]).transform(String);

/** The types of a record's fields. */
export const fieldTypes = ['text', 'integer', 'decimal', 'date', 'phone', 'boolean'] as const;
export const recordsSchema = z.record(nameSchema, z.record(nameSchema, z.enum(fieldTypes)));
export type Records = z.infer<typeof recordsSchema>;

const kindSchema = nameSchema.meta({ description: 'A kind of `records` in program.yaml' });
const whereSchema = expressionSchema.meta({ description: 'An expression over `row` that keeps it' });
const fieldsSchema = z.record(nameSchema, expressionSchema).meta({ description: 'An expression for each field' });
export const textKeySchema = z.string().regex(/^[a-zA-Z][\w]*(\.[\w]+)*$/, 'a text key such as main.title');
const pathSchema = z.string().regex(/^\$(?:\.\w+|\[\d+\])*$/, 'a path such as $.latest.price');

/** What of a reply is kept, and which outcomes its values have. */
const replyFields = {
  take: z
    .record(nameSchema, pathSchema)
    .default({})
    .meta({ description: 'A path such as `$.latest.price` for each value' }),
  when: z
    .array(z.strictObject({ that: expressionSchema, outcome: nameSchema }))
    .max(20)
    .default([])
    .meta({ description: 'Outcomes by expressions over the values taken and `status`; the first that holds' }),
};

const replyOutcomes = {
  ok: 'status 200 to 299, with JSON where `take` reads from it',
  missing: 'status 404',
  failed: 'any other status, no answer in time, or an address that is not allowed',
};

const ownerSchema = z.enum(['caller', 'everyone']).default('caller').meta({ description: 'Whose records' });
const totalPattern = /^(?:count\(\)|(sum|min|max)\((\w+)\))$/;

/** What a `total` computes; `count` has no field. */
export function parseTotal(source: string): { compute: 'count' } | { compute: 'sum' | 'min' | 'max'; field: string } {
  const [, compute, field = ''] = totalPattern.exec(source) ?? [];
  return compute === undefined ? { compute: 'count' } : { compute: compute as 'sum' | 'min' | 'max', field };
}

const totalsFields = {
  of: ownerSchema,
  where: whereSchema.exactOptional(),
  save: z
    .record(nameSchema, z.string().regex(totalPattern, 'count(), or sum, min or max of a field, such as sum(amount)'))
    .meta({ description: 'What each value is: `count()`, `sum(FIELD)`, `min(FIELD)` or `max(FIELD)`' }),
};

/** The figures that a `total` or a `check` saves. */
export type Totals = z.infer<z.ZodObject<typeof totalsFields>>;

const checkSchema = z.strictObject({ ...totalsFields, that: expressionSchema }).meta({
  description:
    '`of`, `where` and `save` as in a `total` over the records of this kind; `that`: a condition over them. It is computed together with the write, so calls at the same time pass it one after the other',
});
const refused = '`check` does not hold, and nothing is written';

/** How many claims one phone number can file through programs in 24 hours; its reports count too. */
export const claimsPerDay = 50;

/** The keywords of actions that need no code. Adding one is an entry here and a run in `actions/built-in-actions.ts`. */
export const builtInSchemas = {
  store: {
    about:
      'Keeps a record of a kind that `records` of program.yaml declares, once each time a caller reaches this state.',
    schema: z.strictObject({ store: kindSchema, fields: fieldsSchema, check: checkSchema.exactOptional() }),
    outcomes: { stored: 'the record is kept', refused },
    finishes: true,
  },
  find: {
    about: "Reads records into a list, newest first: the caller's own, or everyone's with `of: everyone`.",
    schema: z.strictObject({
      find: kindSchema,
      of: ownerSchema,
      where: whereSchema.exactOptional(),
      save: nameSchema.meta({ description: 'The name of the list' }),
      limit: z
        .int()
        .min(1)
        .max(200)
        .default(50)
        .meta({ description: 'How many at most, 50 by default and 200 at most' }),
      more: nameSchema
        .exactOptional()
        .meta({ description: 'The name of a value that is true where there are more records than the list holds' }),
    }),
    outcomes: { found: 'there is at least one', none: 'there is none' },
    finishes: false,
  },
  total: {
    about:
      "Computes over all records of a kind, however many there are: the caller's own, or everyone's with `of: everyone`.",
    schema: z.strictObject({ total: kindSchema, ...totalsFields }),
    outcomes: { found: 'at least one record counts', none: 'no record counts: counts and sums are 0' },
    finishes: false,
  },
  update: {
    about: 'Changes the records of the caller for which `where` holds.',
    schema: z.strictObject({
      update: kindSchema,
      where: whereSchema,
      fields: fieldsSchema,
      check: checkSchema.exactOptional(),
    }),
    outcomes: { updated: 'at least one was changed', none: 'there is none', refused },
    finishes: true,
  },
  http: {
    about:
      'Asks a server over HTTPS and takes values from its JSON. `missing` is status 404. After a `post` neither Back nor a later call leads to it again.',
    schema: z.strictObject({
      http: z
        .strictObject({
          get: z.string().exactOptional(),
          post: z.string().exactOptional(),
          headers: z.record(z.string().regex(/^[\w-]+$/), z.string().max(500)).default({}),
          body: fieldsSchema.exactOptional(),
          timeout: z
            .string()
            .regex(/^[1-8]s$/, 'from 1s to 8s')
            .default('4s'),
        })
        .meta({
          description:
            '`get` or `post`: an address with `{values}`; `headers` with `{secrets.NAME}`; `body`: an expression for each field; `timeout`: `1s` to `8s`, `4s` by default',
        }),
      ...replyFields,
    }),
    outcomes: replyOutcomes,
    finishes: false,
  },
  protocol: {
    about: 'Asks the protocol through the query gateway (GATEWAY_URL) and takes values from its JSON.',
    schema: z.strictObject({
      protocol: z
        .string()
        .regex(/^\/[^/]/, 'a path of the query gateway such as /cosmos/bank/v1beta1/supply')
        .meta({ description: 'A path of the query gateway with `{values}`' }),
      ...replyFields,
    }),
    outcomes: replyOutcomes,
    finishes: false,
  },
  sms: {
    about: 'Sends a text to the caller, or to the number that an expression gives.',
    schema: z.strictObject({
      sms: z
        .strictObject({ text: textKeySchema, number: expressionSchema.default('caller.phone') })
        .meta({ description: '`text`: a key of the locales; `number`: an expression, the caller by default' }),
    }),
    outcomes: {
      queued: 'the message is stored and will be sent',
      refused: 'the number is invalid, or the daily number of messages is used up',
    },
    finishes: true,
  },
  assistant: {
    about: 'Asks the assistant what an expression gives, and saves its answer.',
    schema: z.strictObject({
      assistant: expressionSchema.meta({ description: 'An expression that gives the question' }),
      save: nameSchema.default('answer').meta({ description: 'The name of the answer' }),
    }),
    outcomes: {
      answered: 'the answer is saved',
      waiting: 'it takes longer; the action `showAnswer` shows it later',
      unavailable: 'there is no assistant, or an account holder has not logged in',
    },
    finishes: true,
  },
  claim: {
    about:
      'Files a claim on the protocol, once each time a caller reaches this state: in CLAIMS_COLLECTION, or in the collection that it names. Its fields hold no phone number.',
    schema: z.strictObject({
      claim: nameSchema.meta({ description: 'What it is a claim about, such as `planting`' }),
      collection: z
        .union([z.string(), z.int().min(0)])
        .transform(String)
        .pipe(z.string().regex(/^[\w-]{1,64}$/, 'the id of a collection'))
        .exactOptional()
        .meta({ description: 'The id of a collection other than CLAIMS_COLLECTION' }),
      fields: fieldsSchema,
      save: nameSchema.default('reference').meta({ description: 'The name of its reference' }),
    }),
    outcomes: {
      filed: 'the claim is stored and will be submitted',
      refused: `a field holds a phone number, or the caller has filed ${claimsPerDay} claims in 24 hours`,
      unavailable: 'CLAIMS_COLLECTION is not set',
    },
    finishes: true,
  },
} as const;

export type BuiltInName = keyof typeof builtInSchemas;
export type BuiltIn<Name extends BuiltInName = BuiltInName> = z.infer<(typeof builtInSchemas)[Name]['schema']>;
export const builtInNames = Object.keys(builtInSchemas) as BuiltInName[];

/** The kind of records that a built-in action concerns. */
export function recordKindOf(spec: BuiltIn): string | undefined {
  if ('store' in spec) return spec.store;
  if ('find' in spec) return spec.find;
  if ('total' in spec) return spec.total;
  return 'update' in spec ? spec.update : undefined;
}

/** The condition of a write, over the records that there are when it is written. */
export const checkOf = (spec: BuiltIn) => ('check' in spec ? spec.check : undefined);

/** The figures over records that an action computes, and where they are in it. */
export function totalsOf(spec: BuiltIn): { totals?: Totals | undefined; path: string[] } {
  return 'total' in spec ? { totals: spec, path: ['save'] } : { totals: checkOf(spec), path: ['check', 'save'] };
}

/** Expressions of a built-in action, with where they are. */
export function builtInExpressions(
  spec: BuiltIn,
): { source: string; path: PropertyKey[]; hasRow?: boolean; hasStatus?: boolean; wanted?: 'bool' }[] {
  const fields = 'fields' in spec ? spec.fields : 'http' in spec ? (spec.http.body ?? {}) : {};
  const at = 'http' in spec ? ['http', 'body'] : ['fields'];
  const all: ReturnType<typeof builtInExpressions> = Object.entries(fields).map(([name, source]) => ({
    source,
    path: [...at, name],
  }));
  if ('where' in spec && spec.where !== undefined)
    all.push({ source: spec.where, path: ['where'], hasRow: true, wanted: 'bool' });
  const check = checkOf(spec);
  if (check) all.push({ source: check.that, path: ['check', 'that'], wanted: 'bool' });
  if (check?.where !== undefined)
    all.push({ source: check.where, path: ['check', 'where'], hasRow: true, wanted: 'bool' });
  if ('when' in spec)
    for (const [i, { that }] of spec.when.entries())
      all.push({ source: that, path: ['when', i, 'that'], hasStatus: true, wanted: 'bool' });
  if ('sms' in spec) all.push({ source: spec.sms.number, path: ['sms', 'number'] });
  if ('assistant' in spec) all.push({ source: spec.assistant, path: ['assistant'] });
  return all;
}

const totalTypes = { count: 'integer', sum: 'decimal', min: 'any', max: 'any' } as const;

export function builtInSignature(name: BuiltInName, spec: BuiltIn): ActionSignature {
  const values: Record<string, ValueType> = {};
  if ('find' in spec) {
    values[spec.save] = 'list';
    if (spec.more !== undefined) values[spec.more] = 'boolean';
  }
  for (const [saved, source] of Object.entries(totalsOf(spec).totals?.save ?? {}))
    values[saved] = totalTypes[parseTotal(source).compute];
  if ('take' in spec) for (const taken of Object.keys(spec.take)) values[taken] = 'any';
  if ('assistant' in spec || 'claim' in spec) values[spec.save] = 'text';
  const isUnchecked = ('store' in spec || 'update' in spec) && !spec.check;
  const outcomes = Object.keys(builtInSchemas[name].outcomes).filter((each) => !(isUnchecked && each === 'refused'));
  // What was posted may have been paid: Back and a later call do not lead to it again.
  const finishes = builtInSchemas[name].finishes || ('http' in spec && spec.http.post !== undefined);
  const named = 'when' in spec ? spec.when.map(({ outcome }) => outcome) : [];
  return { outcomes: [...new Set([...outcomes, ...named])], finishes, values };
}
