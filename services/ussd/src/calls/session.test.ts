import { expect, test } from 'vitest';
import type { SessionTable } from '../store/tables.ts';
import { createSessionCache } from './session.ts';

function toSession(id: string, seenAt: number, reply = 'CON x'): SessionTable {
  return {
    id,
    phone: '+254700000001',
    service_code: '*1#',
    version: 1,
    status: 1,
    text_hash: '',
    text_length: 0,
    opening: 'en',
    dialogue: '{}',
    reply,
    opened_at: seenAt,
    seen_at: seenAt,
  };
}

test('it keeps the last seen half at least, and never more than it may', () => {
  const cache = createSessionCache(6);
  for (const [at, id] of ['a', 'b', 'c', 'a', 'd', 'e', 'f'].entries()) cache.set(toSession(id, at));
  expect(['a', 'd', 'e', 'f'].every((id) => cache.get(id)?.id === id)).toBe(true);
  expect(cache.get('b')).toBeUndefined();
  for (let i = 0; i < 100; i++) {
    cache.set(toSession(`s${i}`, 10 + i));
    expect([i, i - 1, i - 2].every((n) => n < 0 || cache.get(`s${n}`))).toBe(true);
    expect(cache.sweep(0)).toBeLessThan(6);
  }
});

test('one that is removed is gone from both generations', () => {
  const cache = createSessionCache(4);
  for (const id of ['a', 'b', 'c']) cache.set(toSession(id, 1));
  for (const id of ['a', 'c']) cache.delete(id);
  expect(['a', 'b', 'c'].map((id) => cache.get(id)?.id)).toEqual([undefined, 'b', undefined]);
});

test('expired ones are dropped, so that memory returns to where it was', () => {
  const cache = createSessionCache(100_000);
  for (let i = 0; i < 1_000; i++) cache.set(toSession(`s${i}`, i));
  expect(cache.sweep(600)).toBe(400);
  expect(cache.get('s599')).toBeUndefined();
  expect(cache.get('s600')?.id).toBe('s600');
  expect(cache.sweep(5_000)).toBe(0);
});

test('large ones are left to the database', () => {
  const cache = createSessionCache(10);
  cache.set(toSession('a', 1));
  cache.set(toSession('a', 2, `CON ${'x'.repeat(2_000)}`));
  expect(cache.get('a')).toBeUndefined();
});
