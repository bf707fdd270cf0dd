import { expect, test } from 'vitest';
import { z } from 'zod';
import { sseEventDataSchemas } from './events.ts';
import * as contract from './index.ts';
import * as internal from './internal.ts';

function collectSchemas(): [name: string, schema: z.ZodType][] {
  const groups = new Set(['sseEventDataSchemas', 'serverEventPayloadSchemas', 'clientEventPayloadSchemas']);
  return Object.entries({ ...contract, ...internal, sseEventDataSchemas }).flatMap(
    ([name, value]): [string, z.ZodType][] => {
      if (value instanceof z.ZodType) return [[name, value]];
      if (!groups.has(name)) return [];
      return Object.entries(value as unknown as Record<string, z.ZodType>).map(([event, schema]) => [
        `${name}.${event}`,
        schema,
      ]);
    },
  );
}

const schemas = collectSchemas();

test('the collection has found the schemas', () => {
  expect(schemas.length).toBeGreaterThan(60);
});

test.each(schemas)('%s converts to JSON Schema, as it is read and as it is written', (_name, schema) => {
  expect(() => z.toJSONSchema(schema, { io: 'input' })).not.toThrow();
  expect(() => z.toJSONSchema(schema, { io: 'output' })).not.toThrow();
});

test('no two schemas share an OpenAPI component name', () => {
  const owners = new Map<string, z.ZodType>();
  for (const [name, schema] of schemas) {
    const id = schema.meta()?.id;
    if (id === undefined) continue;
    expect(owners.get(id) ?? schema, `${name} takes the id ${id} a second time`).toBe(schema);
    owners.set(id, schema);
  }
});

test('every object of a body or event has a component name and a description; parameters and tool arguments are inline', () => {
  const objects = schemas.filter(([, schema]) => schema instanceof z.ZodObject);
  const inPlace = (name: string) => /(Query|Params|Auth)Schema$|^set/.test(name);
  for (const [name, schema] of objects) {
    expect(schema.meta()?.id === undefined, name).toBe(inPlace(name));
    expect(schema.description, name).toMatch(/\.$/);
  }
});

test('lengths in code points reach the document, where JSON Schema counts code points too', () => {
  const document = z.toJSONSchema(contract.sendMessageSchema, { io: 'input' }).$defs?.SendMessageDto ?? {};
  expect(document.properties?.message).toMatchObject({ type: 'string', minLength: 1, maxLength: 32_000 });
  expect(document.required).toEqual(['message']);
});

test('the document says that texts have no U+0000, beside what else it says of them', () => {
  const patternsOf = ({ pattern, allOf = [] }: z.core.JSONSchema.BaseSchema) =>
    [pattern, ...allOf.map((part) => part.pattern)].filter((one) => one !== undefined);
  const takes = (text: string, schema: z.ZodType) =>
    patternsOf(z.toJSONSchema(schema, { io: 'input' })).every((pattern) => new RegExp(pattern).test(text));
  const name = internal.boundedText(1, 10).regex(/^[^/]*$/);
  expect(['a goat\n', 'a\0', 'a/b'].map((text) => takes(text, name))).toEqual([true, false, false]);
  expect(name.safeParse('a\0').error?.issues[0]?.message).toBe('must not contain the character U+0000');
});

test('a query limit is documented as an optional integer with its bounds', () => {
  const document = z.toJSONSchema(internal.offsetPageQuerySchema, { io: 'input' });
  expect(document.properties?.limit).toMatchObject({ type: 'integer', minimum: 1, maximum: 100 });
  expect(document.required).toBeUndefined();
});
