import { createTestDatabase, engines } from '@palaver/test-kit';
import { sql } from 'kysely';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { openStore } from './index.ts';
import { createLeases, type LeaseColumns } from './leases.ts';

interface Job extends LeaseColumns {
  status: string;
  attempts: number;
}

afterEach(() => void vi.useRealTimers());

describe.each(engines)('leases on %s', (engine) => {
  async function openJobs() {
    const database = await createTestDatabase(engine);
    const store = await openStore<{ job: Job }>(database.url);
    await sql`create table job (id text primary key, claimed_by text, lease_until bigint not null default 0,
      status text not null default 'due', attempts integer not null default 0)`.execute(store.db);
    await sql`insert into job (id) values ('a'), ('b')`.execute(store.db);
    return {
      leases: createLeases<Job>(store, 'job'),
      read: (id: string) => store.db.selectFrom('job').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
      async [Symbol.asyncDispose]() {
        await store.close();
        await database[Symbol.asyncDispose]();
      },
    };
  }
  const due = { ms: 60_000, from: { status: 'due', attempts: 0 }, set: { attempts: 1 } };

  test('of many holders one takes a row, and may ask again after a reply that was lost', async () => {
    await using jobs = await openJobs();
    const holders = Array.from({ length: 8 }, (_, i) => `holder ${i}`);
    const taken = await Promise.all(holders.map((holder) => jobs.leases.take('a', holder, due)));
    expect(taken.filter(Boolean)).toHaveLength(1);
    const holder = holders[taken.indexOf(true)] as string;
    expect(await jobs.leases.take('a', holder, due)).toBe(true);
    expect(await jobs.read('a')).toMatchObject({ claimed_by: holder, attempts: 1 });
    expect(await jobs.read('b')).toMatchObject({ claimed_by: null, attempts: 0 });
  });

  test('the clock of a machine frees no lease of another', async () => {
    await using jobs = await openJobs();
    expect(await jobs.leases.take('a', 'slow', due)).toBe(true);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 });
    expect(await jobs.leases.take('a', 'ahead', { ...due, from: { status: 'due' } })).toBe(false);
    expect(await jobs.leases.hold('a', 'ahead', 1_000)).toBe(false);
  });

  test('a row is taken only as it was read', async () => {
    await using jobs = await openJobs();
    expect(await jobs.leases.take('a', 'one', { ...due, from: { attempts: 7 } })).toBe(false);
    expect(await jobs.leases.take('a', 'one', due)).toBe(true);
  });

  test('who has lost a row changes nothing of it', async () => {
    await using jobs = await openJobs();
    await jobs.leases.take('a', 'dead', { ...due, ms: -1 });
    expect(await jobs.leases.take('a', 'next', { ms: 60_000, from: { attempts: 1 } })).toBe(true);
    await jobs.leases.renew('a', 'dead', 3_600_000);
    await jobs.leases.end('a', 'dead', { set: { status: 'done' } });
    const row = await jobs.read('a');
    expect(row).toMatchObject({ claimed_by: 'next', status: 'due' });
    expect(row.lease_until).toBeLessThan(Date.now() + 120_000);
  });

  test('a row that is given back waits for the time given, and changes only where it is as expected', async () => {
    await using jobs = await openJobs();
    await jobs.leases.take('a', 'one', due);
    await jobs.leases.end('a', 'one', { from: { status: 'cancelled' }, set: { status: 'due' } });
    expect(await jobs.read('a')).toMatchObject({ claimed_by: 'one' });
    await jobs.leases.end('a', 'one', { set: { attempts: 0 }, afterMs: 60_000 });
    expect(await jobs.leases.take('a', 'two', due)).toBe(false);
    await jobs.leases.take('b', 'one', due);
    await jobs.leases.end('b', 'one', { set: { attempts: 0 } });
    expect(await jobs.leases.take('b', 'two', due)).toBe(true);
  });

  test('work that is no row is held by its name', async () => {
    await using jobs = await openJobs();
    const held = await Promise.all(['one', 'two', 'three'].map((holder) => jobs.leases.hold('sweep', holder, 60_000)));
    expect(held.filter(Boolean)).toHaveLength(1);
    const holder = ['one', 'two', 'three'][held.indexOf(true)] as string;
    expect(await jobs.leases.hold('sweep', holder, 60_000)).toBe(true);
    await jobs.leases.end('sweep', holder);
    expect(await jobs.leases.hold('sweep', 'next', 60_000)).toBe(true);
  });
});
