import { expect, test } from 'vitest';
import { createReplyMemo } from './queries/query.ts';

test('answers are kept by request, and never more than 16 MiB of them', () => {
  const memo = createReplyMemo();
  const message = new Uint8Array(1024 * 1024);
  memo.set('first', message);
  expect(memo.get('first')).toBe(message);
  expect(memo.get('second')).toBeUndefined();
  for (let index = 0; index < 15; index += 1) memo.set(`other ${index}`, message);
  expect(memo.get('first')).toBeUndefined();
  expect(memo.get('other 14')).toBe(message);
});
