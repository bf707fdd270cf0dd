import { openStore } from '@palaver/store';
import { createTestDatabase, type Engine, engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { migrateUssd } from './migrations.ts';
import { sessionStatus } from './session-row.ts';
import { createSessionStore } from './session-store.ts';
import type { SessionTable, UssdTables } from './tables.ts';
import { createTextHash } from './text-hash.ts';

const timeoutMs = 180_000;

async function openSessions(engine: Engine) {
  const database = await createTestDatabase(engine);
  const open = async () => {
    const store = await openStore<UssdTables>(database.url);
    await migrateUssd(store);
    const sessions = createSessionStore(store, { timeoutMs, textHash: createTextHash(Buffer.alloc(32)) });
    return { db: store.db, sessions, [Symbol.asyncDispose]: () => store.close() };
  };
  const { db, sessions, [Symbol.asyncDispose]: close } = await open();
  return {
    db,
    sessions,
    openAnother: open,
    async [Symbol.asyncDispose]() {
      await close();
      await database[Symbol.asyncDispose]();
    },
  };
}

function toSession(id: string, changes: Partial<SessionTable> = {}): SessionTable {
  return {
    id,
    phone: '+254700000001',
    service_code: '*1#',
    version: 1,
    status: sessionStatus.active,
    text_hash: '',
    text_length: 0,
    opening: '{"language":"en"}',
    dialogue: '{"s":"preMenu","l":"en"}',
    reply: 'CON x',
    opened_at: 1_000,
    seen_at: 1_000,
    ...changes,
  };
}

describe.each(engines)('sessions on %s', (engine) => {
  test('are written together, each as it was given', async () => {
    await using opened = await openSessions(engine);
    const { sessions } = opened;
    const ids = Array.from({ length: 40 }, (_, i) => `s${i}`);
    expect(await Promise.all(ids.map((id) => sessions.save({ session: toSession(id) })))).not.toContain(false);
    const next = ids.map((id, i) =>
      toSession(id, {
        version: 2,
        text_hash: `h${i}`,
        text_length: i,
        opening: '{"language":"sw"}',
        dialogue: `{"s":"s${i}","l":"sw"}`,
        reply: `CON ${i}`,
        seen_at: 2_000 + i,
        ...(i % 3 === 0 && { status: sessionStatus.ended }),
        ...(i % 3 === 1 && { opened_at: 2_000 }),
      }),
    );
    const saved = next.map((session, i) => sessions.save({ session, isStep: i % 3 === 2 }));
    expect(await Promise.all(saved)).not.toContain(false);
    expect(await Promise.all(ids.map((id) => sessions.load(id)))).toEqual(next);
  });

  test.each([true, false])('are refused at any version but the next, as a step: %s', async (isStep) => {
    await using opened = await openSessions(engine);
    const { sessions } = opened;
    await sessions.save({ session: toSession('a') });
    for (const version of [1, 3]) {
      const other = toSession('b', { phone: '+254700000002' });
      const results = [
        sessions.save({ session: toSession('a', { version, reply: 'CON y' }), isStep }),
        sessions.save({ session: { ...other, id: `b${version}` } }),
      ];
      expect(await Promise.all(results)).toEqual([false, true]);
    }
    expect(await sessions.load('a')).toEqual(toSession('a'));
  });

  test('a key press that came in time is answered although its session was marked as expired meanwhile', async () => {
    await using opened = await openSessions(engine);
    const { db, sessions } = opened;
    await sessions.save({ session: toSession('a') });
    await db.updateTable('ussd_session').set({ status: sessionStatus.expired }).execute();
    const next = toSession('a', { version: 2, reply: 'CON y', seen_at: 2_000 });
    const resume = { form: '{"state":"amount"}', at: 2_000 };
    expect(await sessions.save({ session: next, isStep: true, resume })).toBe(true);
    expect(await sessions.load('a')).toEqual(next);
    expect(await db.selectFrom('ussd_profile').select('resume_at').execute()).toEqual([{ resume_at: 2_000 }]);
  });
});

// Links to an SMSC that break deliver inputs again, to whichever instance is bound.
test('instances that write the same sessions at once do not lock each other out', async () => {
  await using opened = await openSessions('postgres');
  const { sessions } = opened;
  await using other = await opened.openAnother();
  for (let round = 1; round <= 20; round++) {
    const writes = Array.from({ length: 200 }, (_, i) => ({
      session: toSession(`s${i}`, { version: round, phone: `+25470${i}`, seen_at: round }),
      resume: { form: null, at: round },
    }));
    const [one, two] = await Promise.all([
      Promise.all(writes.map(sessions.save)),
      Promise.all(writes.toReversed().map(other.sessions.save)),
    ]);
    expect(one.map((isWritten, i) => isWritten !== two.toReversed()[i])).not.toContain(false);
  }
});
