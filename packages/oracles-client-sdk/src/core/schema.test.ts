import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod3';
import { z as z322 } from 'zod322';
import { parseWith, type Schema, toJsonSchema } from './schema.ts';

// The same words build schemas of both versions.
const build = (zod: typeof z) =>
  zod.object({
    name: zod.string().min(1).max(80).describe('Who'),
    age: zod.number().int().min(0).max(150).optional(),
    size: zod.number().min(0.5),
    kind: zod.enum(['a', 'b']),
    fixed: zod.literal('x'),
    tags: zod.array(zod.string()).min(1).max(3),
    either: zod.union([zod.string(), zod.boolean()]),
    maybe: zod.string().nullable(),
    level: zod.number().default(3),
    nested: zod.object({ deep: zod.boolean() }),
    map: zod.record(zod.string(), zod.number()),
    pair: zod.tuple([zod.string(), zod.number()]),
    refined: zod.string().refine((text) => text !== 'no'),
    trimmed: zod.string().transform((text) => text.trim()),
  });

const expected = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 80, description: 'Who' },
    age: { type: 'integer', minimum: 0, maximum: 150 },
    size: { type: 'number', minimum: 0.5 },
    kind: { type: 'string', enum: ['a', 'b'] },
    fixed: { type: 'string' },
    tags: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 3 },
    level: { type: 'number', default: 3 },
    nested: { type: 'object', properties: { deep: { type: 'boolean' } }, required: ['deep'] },
    map: { type: 'object', additionalProperties: { type: 'number' } },
    pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] },
    refined: { type: 'string' },
    trimmed: { type: 'string' },
  },
};
const required = [
  'name',
  'size',
  'kind',
  'fixed',
  'tags',
  'either',
  'maybe',
  'nested',
  'map',
  'pair',
  'refined',
  'trimmed',
];

/** A schema of version 4 as it was before it could describe itself. */
function withoutOwnJsonSchema(schema: z.ZodType): Schema {
  const { validate, vendor, version } = schema['~standard'];
  return Object.assign(Object.create(schema), { '~standard': { validate, vendor, version } });
}

describe.each([
  ['zod 3.22', build(z322 as unknown as typeof z) as Schema],
  ['zod 3.25', build(z3 as unknown as typeof z) as Schema],
  ['zod 4', build(z) as Schema],
  ['zod 4 before 4.2', withoutOwnJsonSchema(build(z))],
])('the JSON Schema of %s', (_name, schema) => {
  it('says the same', () => {
    const json = toJsonSchema(schema);
    expect(json).toMatchObject(expected);
    expect((json.required as string[]).toSorted()).toEqual(required.toSorted());
    expect(json).not.toHaveProperty('$schema');
    // Written `anyOf` or as a list of types.
    const { either, maybe } = json.properties as Record<string, unknown>;
    expect(JSON.stringify(either)).toMatch(/"string".*"boolean"/);
    expect(JSON.stringify(maybe)).toMatch(/"string".*"null"/);
  });

  it('is an object at the top, whatever the schema', () => {
    expect(JSON.parse(JSON.stringify(toJsonSchema(schema)))).toHaveProperty('type', 'object');
  });
});

it.each([
  ['zod 3.22', z322.object({ a: z322.string().max(2), b: z322.object({ c: z322.number() }) }) as Schema],
  ['zod 3.25', z3.object({ a: z3.string().max(2), b: z3.object({ c: z3.number() }) }) as Schema],
  ['zod 4', z.object({ a: z.string().max(2), b: z.object({ c: z.number() }) }) as Schema],
])('arguments are checked with every fault named (%s)', async (_name, schema) => {
  await expect(parseWith(schema, { a: 'abc', b: { c: 'x' } })).rejects.toThrow(/a: .+; b\.c: .+/);
  expect(await parseWith(schema, { a: 'ab', b: { c: 1 } })).toEqual({ a: 'ab', b: { c: 1 } });
});

it('leaves open what JSON Schema cannot say', () => {
  const odd = z.object({ when: z.date(), big: z.bigint() });
  expect(toJsonSchema(odd)).toMatchObject({ type: 'object', properties: { when: {}, big: {} } });
  expect(toJsonSchema(withoutOwnJsonSchema(odd))).toMatchObject({ type: 'object', properties: { when: {}, big: {} } });
});
