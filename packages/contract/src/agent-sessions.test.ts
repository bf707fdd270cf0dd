import { expect, test } from 'vitest';
import { createSessionSchema, sessionSchema } from './agent-sessions.ts';

test.each([
  [undefined, {}],
  [null, {}],
  [{}, {}],
  [{ title: 'Trees' }, { title: 'Trees' }],
  [{ title: '🌳'.repeat(200) }, { title: '🌳'.repeat(200) }],
  [{ metadata: { a: [1] }, other: true }, { metadata: { a: [1] } }],
])('a new session takes %j', (body, expected) => {
  expect(createSessionSchema.parse(body)).toEqual(expected);
});

test.each([
  '',
  [],
  5,
  false,
  { title: '' },
  { title: null },
  { title: 5 },
  { title: 'a'.repeat(201) },
  { title: 'a\u0000' },
  { metadata: [] },
  { metadata: 'x' },
])('a new session refuses %j', (body) => {
  expect(createSessionSchema.safeParse(body).success).toBe(false);
});

test('times of a session are ISO 8601 in UTC', () => {
  const session = {
    sessionId: '01890a5d-ac96-774b-bcce-b302099a8057',
    title: 'New chat',
    createdAt: '2026-01-02T03:04:05.678Z',
    lastUpdatedAt: '2026-01-02T03:04:05Z',
    oracleName: 'Palaver',
    oracleDid: 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK',
    roomId: 'r1',
  };
  expect(sessionSchema.parse(session)).toEqual(session);
  for (const createdAt of ['2026-01-02', '2026-01-02T03:04:05+01:00', '2026-02-30T00:00:00Z', 1767323045]) {
    expect(sessionSchema.safeParse({ ...session, createdAt }).success, String(createdAt)).toBe(false);
  }
});
