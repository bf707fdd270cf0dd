import { expect, test } from 'vitest';
import type { Session } from './session.ts';
import { createSessionCache } from './session-cache.ts';

function toSession(id: string, seenAt: number, reply = 'CON x'): Session {
  return {
    id,
    phone: '+254700000001',
    serviceCode: '*1#',
    version: 1,
    status: 1,
    textHash: '',
    textLength: 0,
    opening: 'en',
    dialogue: '{}',
    reply,
    openedAt: seenAt,
    seenAt,
  };
}

test('the least recently seen go when it is full', () => {
  const cache = createSessionCache(2);
  cache.set(toSession('a', 1));
  cache.set(toSession('b', 2));
  cache.set(toSession('a', 3));
  cache.set(toSession('c', 4));
  expect(['a', 'b', 'c'].map((id) => cache.get(id)?.id)).toEqual(['a', undefined, 'c']);
});

test('expired ones are dropped, so that memory returns to where it was', () => {
  const cache = createSessionCache(100_000);
  for (let i = 0; i < 1_000; i++) cache.set(toSession(`s${i}`, i));
  expect(cache.sweep(600)).toBe(400);
  expect(cache.get('s599')).toBeUndefined();
  expect(cache.get('s600')).toBeDefined();
  expect(cache.sweep(5_000)).toBe(0);
});

test('large ones are left to the database', () => {
  const cache = createSessionCache(10);
  cache.set(toSession('a', 1));
  cache.set(toSession('a', 2, `CON ${'x'.repeat(2_000)}`));
  expect(cache.get('a')).toBeUndefined();
});
