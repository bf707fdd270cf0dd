import { expect, test } from 'vitest';
import { createMemorySchema, memoryQuerySchema } from './memory.ts';

test('a memory is a fact unless it says otherwise', () => {
  expect(createMemorySchema.parse({ text: 'x' })).toEqual({ text: 'x', kind: 'fact' });
  expect(createMemorySchema.parse({ text: 'x', kind: 'artifact' }).kind).toBe('artifact');
});

test.each([{}, { text: '' }, { text: 'x'.repeat(2001) }, { text: 'a\0' }, { text: 'x', kind: 'rumour' }])(
  '%.40j is no memory',
  (body) => {
    expect(createMemorySchema.safeParse(body).success).toBe(false);
  },
);

test('a query is a page with words to look for', () => {
  expect(memoryQuerySchema.parse({ query: 'goat', limit: '5' })).toEqual({ query: 'goat', limit: 5, offset: 0 });
  for (const query of [{ query: '' }, { query: 'x'.repeat(501) }, { limit: '101' }])
    expect(memoryQuerySchema.safeParse(query).success).toBe(false);
});
