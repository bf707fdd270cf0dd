import { agentLimits } from '@palaver/contract';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import type { Tool } from './tool.ts';
import { checkArguments } from './tool-arguments.ts';

const check = (inputSchema: Tool['inputSchema'], args: unknown) => checkArguments({ inputSchema }, args);

describe('by a JSON Schema', () => {
  const input = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      age: { type: 'integer' },
      pattern: { type: 'string' },
      tags: { type: 'array', items: { type: 'string' } },
      place: { type: 'object', properties: { lat: { type: 'number' } }, required: ['lat'] },
    },
    required: ['name'],
  };
  test.each([
    [{ name: 'Ana', age: 5, pattern: 'x', tags: ['a'], place: { lat: 1.5 }, more: 1 }],
    [{ name: 'Ana', place: { lat: 1, __proto__: null } }],
  ])('%j is right', async (args) => {
    expect(await check(input, args)).toEqual({ args });
  });

  test.each([
    [{}, 'name: is required'],
    [{ name: 5 }, 'name: expected string'],
    [{ name: 'Ana', age: 1.5 }, 'age: expected integer'],
    [{ name: 'Ana', pattern: 5 }, 'pattern: expected string'],
    [{ name: 'Ana', tags: ['a', 7] }, 'tags.1: expected string'],
    [{ name: 'Ana', place: {} }, 'place.lat: is required'],
    [{ name: 'Ana', place: [] }, 'place: expected object'],
    [[1], 'arguments: expected object'],
    [null, 'arguments: expected object'],
    ['text', 'arguments: expected object'],
  ])('%j is wrong: %s', async (args, error) => {
    expect(await check(input, args)).toEqual({ error });
  });

  it('reads no more of a schema than its steps allow', async () => {
    const required = Array.from({ length: 2 * agentLimits.toolSchemaSteps }, (_, index) => `k${index}`);
    const items = { type: 'object', required };
    const full = Object.fromEntries(required.slice(0, 1_000).map((name) => [name, 1]));
    const args = { list: Array(500).fill({}) };
    expect(await check({ type: 'object', properties: { list: { type: 'array', items } } }, args)).toHaveProperty(
      'error',
    );
    expect(await check({ type: 'object', required: required.slice(0, 1_000) }, full)).toEqual({ args: full });
  });
});

/** Keywords of JSON Schema, and names by which schemas of libraries are known. */
test.each([
  [JSON.parse('{"type":"object","if":{},"then":{"required":["b"]},"else":{}}')],
  [{ type: 'object', '~standard': {} }],
  [{ type: 'object', '~standard': { validate: 'x', vendor: 'zod', version: 1 } }],
  [{ type: 'object', validate: 'x', jsonSchema: { type: 'string' } }],
  [{ type: 'object', _def: {}, _zod: {} }],
])('what comes as JSON is JSON Schema, whatever it has: %j', async (schema) => {
  expect(await check({ ...schema, required: ['a'] }, {})).toEqual({ error: 'a: is required' });
  expect(await check({ ...schema, required: ['a'] }, { a: 1 })).toEqual({ args: { a: 1 } });
});

const nested = (depth: number) => JSON.parse(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`);

test.each([
  ['JSON Schema', { type: 'object' }],
  ['zod', z.record(z.string(), z.unknown())],
])('%s or not, arguments have a size and a depth', async (_kind, input) => {
  expect(await check(input, nested(agentLimits.toolArgumentsDepth - 1))).toHaveProperty('args');
  expect(await check(input, nested(agentLimits.toolArgumentsDepth))).toMatchObject({
    error: expect.stringContaining('deeper'),
  });
  expect(await check(input, nested(15_000))).toMatchObject({ error: expect.stringContaining('deeper') });
  const text = 'x'.repeat(agentLimits.toolArgumentsBytes);
  expect(await check(input, { text })).toMatchObject({ error: expect.stringContaining('larger') });
});
