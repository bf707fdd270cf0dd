import { openStore } from '@palaver/store';
import { createTestDatabase, waitFor } from '@palaver/test-kit';
import { startTcpProxy } from '@palaver/test-kit/servers';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { createGate } from './gate-plugin.ts';
import { collectFrames } from './read-frames.ts';
import { agentTemplate, request, startTestAgent } from './test-agent.ts';

/**
 * An agent whose line to PostgreSQL can break while a statement of it is under way. The server does not notice and commits
 * the statement later; its reply is lost.
 */
async function startOnBreakingLine(options: Parameters<typeof startTestAgent>[0] = {}) {
  await using opened = new AsyncDisposableStack();
  const database = opened.use(await createTestDatabase('postgres', agentTemplate));
  const url = new URL(database.url);
  const line = opened.use(await startTcpProxy(Number(url.port)));
  url.port = String(line.port);
  const agent = opened.use(await startTestAgent({ ...options, databaseUrl: url.href }));
  const store = await openStore<never>(database.url, { poolSize: 2 });
  opened.defer(() => store.close());
  const kept = opened.move();

  /** Writes of `agent_run` that meet the condition wait; gives what releases them. */
  async function hold(event: 'insert' | 'update', condition: string) {
    await sql`create table test_hold (id int primary key)`.execute(store.db);
    await sql`insert into test_hold values (1)`.execute(store.db);
    await sql`create function wait_for_test() returns trigger language plpgsql as $$ begin
      perform 1 from test_hold for share; return new; end $$`.execute(store.db);
    await sql`create trigger wait_for_test before ${sql.raw(event)} on agent_run for each row
      when (${sql.raw(condition)}) execute function wait_for_test()`.execute(store.db);
    const released = Promise.withResolvers<void>();
    const isHeld = Promise.withResolvers<void>();
    const holding = store.db.transaction().execute(async (trx) => {
      await sql`select 1 from test_hold for update`.execute(trx);
      isHeld.resolve();
      await released.promise;
    });
    await isHeld.promise;
    return {
      reached: () =>
        waitFor('a write that waits', async () => {
          const { rows } = await sql`select 1 from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'`.execute(store.db);
          return rows.length > 0;
        }),
      async release() {
        released.resolve();
        await holding;
      },
    };
  }

  return {
    line,
    store,
    hold,
    url: agent.url,
    ana: await agent.createUser(),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

test('the reply to the start of a run is lost: it still starts', async () => {
  const gate = createGate();
  await using own = await startOnBreakingLine({ plugins: [gate.plugin] });
  const { ana } = own;
  const sessionId = await ana.createSession();
  const first = ana.say(sessionId, '/tool gate');
  await gate.reached();
  const second = collectFrames(await ana.stream(sessionId, '/long 3'));
  const start = await own.hold('update', "old.status = 'queued' and new.status = 'running'");
  gate.open();
  await start.reached();
  own.line.drop();
  await start.release();
  expect((await first).body.message.status).toBe('complete');
  expect((await second).at(-1)?.data.status).toBe('complete');
});

test('the reply to a takeover is lost: the run is taken over again', async () => {
  await using own = await startOnBreakingLine();
  const { ana, store } = own;
  const sessionId = await ana.createSession();
  await ana.stream(sessionId, '/long 40');
  const claim = await own.hold('update', "old.instance = 'gone' and new.instance <> 'gone'");
  await sql`insert into agent_instance (id, seen_at) values ('gone', 0)`.execute(store.db);
  await sql`update agent_run set instance = 'gone', epoch = epoch + 1`.execute(store.db);
  await claim.reached();
  own.line.drop();
  await claim.release();
  expect((await ana.say(sessionId, 'hello')).body.message.status).toBe('complete');
  expect((await ana.messages(sessionId))[1].content).toMatch(/word40$/);
});

test('the reply to the begin of a run is lost: its message is answered once', async () => {
  await using own = await startOnBreakingLine();
  const { ana } = own;
  const sessionId = await ana.createSession();
  const begin = await own.hold('insert', 'true');
  const sent = ana.say(sessionId, '/long 3');
  await begin.reached();
  own.line.drop();
  await begin.release();
  expect(await sent).toMatchObject({ status: 200, body: { message: { status: 'complete' } } });
  expect(await ana.messages(sessionId)).toHaveLength(2);
});

test('a begin that is committed while the database cannot be reached is carried out', async () => {
  await using own = await startOnBreakingLine();
  const { ana, store } = own;
  const sessionId = await ana.createSession();
  const begin = await own.hold('insert', 'true');
  const sent = ana.say(sessionId, '/long 3');
  await begin.reached();
  own.line.cut();
  await begin.release();
  const statuses = async () => (await sql<{ status: string }>`select status from agent_run`.execute(store.db)).rows;
  await waitFor('the begin', async () => (await statuses()).length === 1);
  expect((await sent).status).toBeGreaterThanOrEqual(500);
  own.line.restore();
  await waitFor('the end', async () => (await statuses())[0]?.status !== 'running', 20_000);
  expect(await statuses()).toEqual([{ status: 'complete' }]);
  expect(await ana.messages(sessionId)).toHaveLength(2);
});

test('while the database is unreachable, routes of users and of operators answer 503 and say why', async () => {
  await using own = await startOnBreakingLine();
  own.line.cut();
  const unavailable = { status: 503, body: { code: 'UNAVAILABLE', message: expect.stringContaining('database') } };
  expect(await own.ana.send('GET', '/sessions')).toMatchObject(unavailable);
  expect(await request(`${own.url}/users/${own.ana.did}/export`)).toMatchObject(unavailable);
  own.line.restore();
  await waitFor('the database', async () => (await own.ana.send('GET', '/sessions')).status === 200);
});
