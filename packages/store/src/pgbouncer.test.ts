import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { createTestDatabase, startPgbouncer } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { openStore, type Store } from './index.ts';
import { auditMigrations, createAuditLog, verifyAudit } from './internal.ts';

interface TestDb {
  item: { id: string; amount: number };
}

/** What services do: migrations, prepared queries, transactions, group commit, the audit log, many at once. */
async function exercise(store: Store<TestDb>): Promise<void> {
  await store.migrate('test', [
    {
      name: '001',
      async up(db) {
        await db.schema
          .createTable('item')
          .addColumn('id', 'text', (column) => column.primaryKey())
          .addColumn('amount', 'integer')
          .execute();
      },
    },
  ]);
  await store.migrate('audit', auditMigrations);
  const find = store.prepare((db, p: { id: string }) => db.selectFrom('item').selectAll().where('id', '=', p.id));
  const insert = store.prepare((db, p: { id: string; amount: number }) =>
    db.insertInto('item').values({ id: p.id, amount: p.amount }),
  );
  const audit = createAuditLog(store, { service: 'test', referenceKey: new Uint8Array(32) });
  await Promise.all(
    Array.from({ length: 40 }, async (_, amount) => {
      const id = `item-${amount}`;
      await store.transaction(async (trx) => {
        await insert({ id, amount }, trx);
        await audit.record({ actor: 'service', action: 'report.filed', details: { id } }, trx);
      });
      expect((await find({ id })).rows).toEqual([{ id, amount }]);
    }),
  );
  await audit.close();
  expect(await verifyAudit(store as never)).toMatchObject({ lines: 40, faults: [] });
}

test.for([
  ['as it comes', ''],
  [
    'that ignores startup parameters',
    'ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout',
  ],
])('everything works behind PgBouncer in transaction mode, %s', async ([, settings], { skip }) => {
  await using database = await createTestDatabase('postgres');
  const bouncer = await startPgbouncer(database.url, settings);
  if ('reason' in bouncer) return skip(bouncer.reason);
  try {
    const stores = await Promise.all([openStore<TestDb>(bouncer.url), openStore<TestDb>(bouncer.url)]);
    await exercise(stores[0] as Store<TestDb>);
    expect(await stores[1]?.ping()).toBe(true);
    await Promise.all(stores.map((store) => store.close()));
  } finally {
    await bouncer.stop();
  }
});

/** Passes a connection through and keeps what the client sent. */
async function startTap(url: string) {
  const sent: Buffer[] = [];
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connectTcp(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
    }
    client.on('data', (chunk) => sent.push(chunk));
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href,
    sent: () => Buffer.concat(sent).toString('latin1'),
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test('with pooler: transaction, no startup parameter but the names and no named statement goes over the wire', async () => {
  await using database = await createTestDatabase('postgres');
  using tap = await startTap(database.url);
  const store = await openStore<TestDb>(tap.url, { pooler: 'transaction' });
  await exercise(store);
  await store.close();
  const wire = tap.sent();
  expect(wire).toContain('application_name\0palaver');
  const session =
    /\0(statement_timeout|idle_in_transaction_session_timeout)\0|palaver_[0-9a-f]{24}|pg_(try_)?advisory_lock|set session/gi;
  expect(wire.match(session)).toBeNull();

  using direct = await startTap(database.url);
  const other = await openStore<TestDb>(direct.url);
  const find = other.prepare((db, p: { id: string }) => db.selectFrom('item').selectAll().where('id', '=', p.id));
  await find({ id: 'item-1' });
  await other.close();
  expect(direct.sent()).toContain('statement_timeout');
  expect(direct.sent()).toMatch(/palaver_[0-9a-f]{24}/);
});
