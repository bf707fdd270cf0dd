// One suite, run on both engines: what holds on SQLite holds on PostgreSQL.
import { createTestDatabase, type Engine, engines } from '@palaver/test-kit';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { openStore, type StoreOptions } from './index.ts';

interface TestDb {
  item: { id: string; amount: number; note: string | null; data: Uint8Array | null; ratio: number | null };
}

async function createTestStore(engine: Engine, options?: StoreOptions) {
  const database = await createTestDatabase(engine);
  const store = await openStore<TestDb>(database.url, options);
  await store.db.schema
    .createTable('item')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('amount', 'bigint', (column) => column.notNull())
    .addColumn('note', 'text')
    .addColumn('data', 'bytea')
    .addColumn('ratio', 'double precision')
    .execute();
  return Object.assign(store, {
    url: database.url,
    async [Symbol.asyncDispose]() {
      await store.close();
      await database[Symbol.asyncDispose]();
    },
  });
}

const blank = { note: null, data: null, ratio: null };

describe.each(engines)('store on %s', (engine) => {
  test('creates, reads, updates, upserts and deletes', async () => {
    await using store = await createTestStore(engine);
    const { db } = store;
    const inserted = await db
      .insertInto('item')
      .values({ ...blank, id: 'a', amount: 1 })
      .returningAll()
      .execute();
    expect(inserted).toEqual([{ ...blank, id: 'a', amount: 1 }]);
    await db
      .insertInto('item')
      .values({ ...blank, id: 'a', amount: 5 })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ amount: 7 }))
      .execute();
    const update = await db.updateTable('item').set({ note: 'x' }).where('amount', '=', 7).executeTakeFirst();
    expect(update.numUpdatedRows).toBe(1n);
    const removed = await db.deleteFrom('item').where('id', '=', 'a').executeTakeFirst();
    expect(removed.numDeletedRows).toBe(1n);
    expect(await db.selectFrom('item').selectAll().execute()).toEqual([]);
  });

  test('every value comes back as it went in', async () => {
    await using store = await createTestStore(engine);
    const { db } = store;
    // PostgreSQL has no NUL in text, and neither engine keeps the sign of zero.
    const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'));
    const row = fc.record({
      amount: fc.maxSafeInteger().map((value) => value + 0),
      note: fc.option(text),
      data: fc.option(fc.uint8Array({ maxLength: 50 })),
      ratio: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)),
    });
    let next = 0;
    await fc.assert(
      fc.asyncProperty(row, async (values) => {
        const id = String(next++);
        await db
          .insertInto('item')
          .values({ id, ...values })
          .execute();
        const found = await db.selectFrom('item').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
        const data = found.data && new Uint8Array(found.data);
        expect({ ...found, data }).toEqual({ id, ...values });
      }),
      { numRuns: 50 },
    );
  });

  test('counts and sums are numbers, booleans 0 and 1, times epoch milliseconds', async () => {
    await using store = await createTestStore(engine);
    const time = new Date('2026-01-02T03:04:05.678Z');
    for (const [id, amount] of [
      ['yes', true],
      ['at', time],
      ['big', 2n ** 53n - 1n],
    ] as const) {
      await sql`insert into item (id, amount) values (${id}, ${amount})`.execute(store.db);
    }
    const rows = await store.db.selectFrom('item').select(['id', 'amount']).orderBy('amount').execute();
    expect(rows).toEqual([
      { id: 'yes', amount: 1 },
      { id: 'at', amount: time.getTime() },
      { id: 'big', amount: Number.MAX_SAFE_INTEGER },
    ]);
    const { count, sum } = await store.db
      .selectFrom('item')
      .select(({ fn }) => [fn.countAll<number>().as('count'), fn.sum<number>('amount').as('sum')])
      .where('id', '!=', 'big')
      .executeTakeFirstOrThrow();
    expect({ count, sum }).toEqual({ count: 2, sum: time.getTime() + 1 });
  });

  test('an integer beyond a number is refused, not rounded', async () => {
    await using store = await createTestStore(engine);
    await sql`insert into item (id, amount) values ('big', ${2n ** 53n})`.execute(store.db);
    await expect(store.db.selectFrom('item').selectAll().execute()).rejects.toThrow(RangeError);
    expect(await store.ping()).toBe(true);
  });

  test.each([[undefined], [Number.NaN], [Number.POSITIVE_INFINITY], [{ a: 1 }], [[1]], [new Date(Number.NaN)]])(
    'the parameter %o is refused',
    async (value) => {
      await using store = await createTestStore(engine);
      const insert = sql`insert into item (id, amount, note) values ('a', 1, ${value})`.execute(store.db);
      await expect(insert).rejects.toThrow(TypeError);
    },
  );

  test('a transaction commits whole or not at all', async () => {
    await using store = await createTestStore(engine);
    const result = await store.transaction(async (trx) => {
      await trx
        .insertInto('item')
        .values({ ...blank, id: 'kept', amount: 1 })
        .execute();
      return 'done';
    });
    expect(result).toBe('done');
    const failing = store.transaction(async (trx) => {
      await trx
        .insertInto('item')
        .values({ ...blank, id: 'lost', amount: 1 })
        .execute();
      await trx
        .insertInto('item')
        .values({ ...blank, id: 'kept', amount: 1 })
        .execute();
    });
    await expect(failing).rejects.toThrow(/unique/i);
    expect(await store.db.selectFrom('item').select('id').execute()).toEqual([{ id: 'kept' }]);
  });

  test('50 parallel read-then-write increments on two connections lose none', async () => {
    await using store = await createTestStore(engine);
    const other = await openStore<TestDb>(store.url);
    await store.db
      .insertInto('item')
      .values({ ...blank, id: 'counter', amount: 0 })
      .execute();
    const increment = (_: unknown, index: number) =>
      (index % 2 ? store : other).transaction(async (trx) => {
        const { amount } = await trx.selectFrom('item').select('amount').executeTakeFirstOrThrow();
        await new Promise(setImmediate);
        await trx
          .updateTable('item')
          .set({ amount: amount + 1 })
          .execute();
      });
    await Promise.all(Array.from({ length: 50 }, increment));
    await other.close();
    expect(await store.db.selectFrom('item').select('amount').execute()).toEqual([{ amount: 50 }]);
  });

  test('between transactions that take long, everything else gets its turn', async () => {
    await using store = await createTestStore(engine, { poolSize: 1 });
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const work = () =>
      store.transaction(async () => {
        const until = performance.now() + 6;
        while (performance.now() < until);
      });
    await Promise.all(Array.from({ length: 20 }, work));
    isDone = true;
    expect(turns).toBeGreaterThanOrEqual(19);
  });

  test('queries outside do not see or join an open transaction', async () => {
    await using store = await createTestStore(engine);
    let outside: Promise<unknown[]> | undefined;
    const failing = store.transaction(async (trx) => {
      await trx
        .insertInto('item')
        .values({ ...blank, id: 'inside', amount: 1 })
        .execute();
      outside = store.db
        .insertInto('item')
        .values({ ...blank, id: 'outside', amount: 1 })
        .execute();
      await new Promise(setImmediate);
      throw new Error('undone');
    });
    await expect(failing).rejects.toThrow('undone');
    await outside;
    expect(await store.db.selectFrom('item').select('id').execute()).toEqual([{ id: 'outside' }]);
  });

  test('waiting for a connection inside a transaction ends with an error', async () => {
    await using store = await createTestStore(engine, { waitMs: 200, poolSize: 1 });
    const nested = store.transaction(() => store.db.selectFrom('item').selectAll().execute());
    await expect(nested).rejects.toThrow(/not free within 200 ms|timeout exceeded/);
    expect(await store.db.selectFrom('item').selectAll().execute()).toEqual([]);
  });

  test('a prepared query runs many times, in and out of a transaction', async () => {
    await using store = await createTestStore(engine);
    const insert = store.prepare((db, p: { id: string; amount: number }) =>
      db.insertInto('item').values({ ...blank, id: p.id, amount: p.amount, note: 'fixed' }),
    );
    const find = store.prepare((db, p: { above: number; limit: number }) =>
      db.selectFrom('item').select(['id', 'note']).where('amount', '>', p.above).orderBy('id').limit(p.limit),
    );
    expect((await insert({ id: 'a', amount: 1 })).numAffectedRows).toBe(1n);
    await store.transaction(async (trx) => {
      await insert({ id: 'b', amount: 2 }, trx);
      await insert({ id: 'c', amount: 3 }, trx);
      expect((await find({ above: 1, limit: 10 }, trx)).rows).toHaveLength(2);
    });
    expect((await find({ above: 0, limit: 2 })).rows).toEqual([
      { id: 'a', note: 'fixed' },
      { id: 'b', note: 'fixed' },
    ]);
  });

  test('the same query prepared twice, and others after it, keep apart', async () => {
    await using store = await createTestStore(engine, { poolSize: 1 });
    await store.db
      .insertInto('item')
      .values({ ...blank, id: 'a', amount: 1 })
      .execute();
    const find = () =>
      store.prepare((db, p: { id: string }) => db.selectFrom('item').select('amount').where('id', '=', p.id));
    const count = store.prepare((db, p: { id: string }) =>
      db
        .selectFrom('item')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('id', '!=', p.id),
    );
    const [first, second] = [find(), find()];
    const other = store.prepare((db, p: { id: string }) => db.selectFrom('item').select('note').where('id', '=', p.id));
    expect((await first({ id: 'a' })).rows).toEqual([{ amount: 1 }]);
    expect((await count({ id: 'a' })).rows).toEqual([{ count: 0 }]);
    expect((await second({ id: 'a' })).rows).toEqual([{ amount: 1 }]);
    expect((await other({ id: 'a' })).rows).toEqual([{ note: null }]);
  });

  test('a prepared query that spreads its parameters is refused', async () => {
    await using store = await createTestStore(engine);
    const spread = () =>
      store.prepare((db, p: { id: string; amount: number }) => db.insertInto('item').values({ ...blank, ...p }));
    expect(spread).toThrow('name each parameter');
  });

  test('foreign keys hold', async () => {
    await using store = await createTestStore(engine);
    await sql`create table child (id text references item (id))`.execute(store.db);
    await expect(sql`insert into child values ('nobody')`.execute(store.db)).rejects.toThrow(/foreign key/i);
  });

  test('close can be repeated; afterwards queries fail and ping says no', async () => {
    await using store = await createTestStore(engine);
    expect(await store.ping()).toBe(true);
    await Promise.all([store.close(), store.close()]);
    await store.close();
    expect(await store.ping()).toBe(false);
    await expect(store.db.selectFrom('item').selectAll().execute()).rejects.toThrow('destroyed');
  });
});
