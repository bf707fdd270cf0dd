import { randomBytes } from 'node:crypto';
import { openStore } from '@palaver/store';
import { createTempDir, createTestDatabase, engines, waitFor } from '@palaver/test-kit';
import { createSigner } from '@palaver/ucan';
import { sql } from 'kysely';
import { describe, expect, it, test } from 'vitest';
import { defineOraclePlugin, type TurnEnd } from '../src/index.ts';
import { answerOf, ask, pay } from './ask-approval.ts';
import { createBank, readPaid } from './bank-plugin.ts';
import { startAgentProcess } from './start-agent-process.ts';
import { startTestAgent } from './test-agent.ts';

const shiftClock = (ms: number) =>
  `data:text/javascript,${encodeURIComponent(`
    const Real = Date;
    globalThis.Date = class extends Real {
      constructor(...args) { args.length === 0 ? super(Real.now() + ${ms}) : super(...args); }
      static now() { return Real.now() + ${ms}; }
    };
  `)}`;

function createEndPlugin() {
  const ends: TurnEnd[] = [];
  const plugin = defineOraclePlugin({
    name: 'ends',
    version: '1.0.0',
    manifest: { title: 'Ends', summary: 'Notes ends.', whenToUse: [], visibility: 'silent', stability: 'stable' },
    getMiddlewares: () => [{ onTurnEnd: (end) => void ends.push(end) }],
  });
  return { plugin, ends };
}

const diedTwice = {
  message: 'Two instances of the service died while they worked on this message, so it is not tried again.',
  retryable: false,
};

describe.each(engines)('on %s', (engine) => {
  test('a run that the sweep ends as failed is reported to plugins, so that they settle what it cost', async () => {
    await using database = await createTestDatabase(engine);
    const env = { ORACLE_PRIVATE_KEY: (await createSigner()).toSecret() };
    const first = await startTestAgent({ env, databaseUrl: database.url });
    const ana = await first.createUser();
    const sessionId = await ana.createSession();
    await ana.say(sessionId, 'hello');
    await first[Symbol.asyncDispose]();
    // What the last of several owners that died leaves behind.
    const store = await openStore<never>(database.url);
    const input = JSON.stringify({ sendId: 'send-1', body: { stream: false, returnAllMessages: false } });
    await sql`delete from agent_message where type = 'ai'`.execute(store.db);
    await sql`update agent_run set status = 'running', ended_at = null, instance = 'gone', deaths = 1, input = ${input}`.execute(
      store.db,
    );
    await sql`insert into agent_instance (id, seen_at) values ('gone', 0)`.execute(store.db);
    await store.close();
    const { plugin, ends } = createEndPlugin();
    await using second = await startTestAgent({ env, databaseUrl: database.url, plugins: [plugin] });
    await waitFor('the end', () => ends.length > 0);
    expect(ends).toMatchObject([{ sendId: 'send-1', userDid: ana.did, sessionId, status: 'failed' }]);
    const again = await second.createUser(ana.signer);
    expect((await again.messages(sessionId)).at(-1)).toMatchObject({ status: 'failed', error: diedTwice });
  });

  test('a run whose steps, frames or input cannot be read ends as failed, and those behind it continue', async () => {
    const env = { DATA_ENCRYPTION_KEY: randomBytes(32).toString('hex') };
    await using agent = await startTestAgent({ engine, env });
    const ana = await agent.createUser();
    const sessions: Record<'frame' | 'step' | 'input' | 'whole', string> = {
      frame: '',
      step: '',
      input: '',
      whole: '',
    };
    for (const name of ['frame', 'step', 'input', 'whole'] as const) {
      sessions[name] = await ana.createSession();
      await ana.say(sessions[name], '/tool recall {"query":"dog"}');
    }
    const store = await openStore<never>(agent.databaseUrl);
    const damage = (table: string, session: string) =>
      sql`update ${sql.table(table)} set body = substr(body, 1, length(body) - 4) || 'AAAA'
        where run_id in (select id from agent_run where session_id = ${session})`.execute(store.db);
    await damage('agent_frame', sessions.frame);
    await damage('agent_step', sessions.step);
    const input = JSON.stringify({ sendId: 'send-1', body: { stream: false, returnAllMessages: false } });
    await sql`delete from agent_frame where run_id in (
      select id from agent_run where session_id <> ${sessions.frame})`.execute(store.db);
    await sql`delete from agent_message where type = 'ai'`.execute(store.db);
    await sql`update agent_run set status = 'running', ended_at = null, instance = 'gone', epoch = 1, input = ${input}`.execute(
      store.db,
    );
    await sql`update agent_run set input = '{' where session_id = ${sessions.input}`.execute(store.db);
    await sql`insert into agent_instance (id, seen_at) values ('gone', 0)`.execute(store.db);
    await store.close();
    await agent.restart();
    const statusOf = async (session: string) => (await ana.messages(session)).find(({ type }) => type === 'ai')?.status;
    await waitFor('the last run', async () => (await statusOf(sessions.whole)) === 'complete');
    const unreadable = [sessions.frame, sessions.step, sessions.input];
    expect(await Promise.all(unreadable.map(statusOf))).toEqual(['failed', 'failed', 'failed']);
  });

  test('a run whose approval cannot be decrypted ends as failed, and those behind it continue', async () => {
    const env = { DATA_ENCRYPTION_KEY: randomBytes(32).toString('hex') };
    await using dir = await createTempDir();
    await using agent = await startTestAgent({ engine, env, plugins: [createBank(`${dir.path}/paid`)] });
    const ana = await agent.createUser();
    const session = await ana.createSession();
    await ana.stream(session, '/tool pay {"to":"ben","amount":50}');
    await waitFor('the approval', async () => (await ana.liveRun(session))?.status === 'waiting');
    const store = await openStore<never>(agent.databaseUrl);
    await sql`update agent_approval set args = substr(args, 1, length(args) - 4) || 'AAAA'`.execute(store.db);
    await store.close();
    expect(await ana.liveRun(session)).toMatchObject({ status: 'waiting', approvals: [] });
    expect((await ana.say(session, 'hello')).body.message.status).toBe('complete');
    expect((await ana.messages(session)).map(({ status }) => status)).toEqual([
      'complete',
      'failed',
      'complete',
      'complete',
    ]);
  });

  test('metrics show how late the sweep is and which runs are beyond their time', async () => {
    await using agent = await startTestAgent({ engine });
    const page = await (await fetch(`${agent.url}/metrics`)).text();
    expect(Number(/^agent_sweep_lag_seconds(?:\{.*\})? (\S+)$/m.exec(page)?.[1])).toBeLessThan(30);
    expect(page).toMatch(/^agent_overdue_runs(?:\{.*\})? 0$/m);
  });
});

test('a second agent on one SQLite file is refused, and the next one starts as soon as the first is gone', async () => {
  await using database = await createTestDatabase('sqlite');
  const first = await startTestAgent({ databaseUrl: database.url });
  await expect(startTestAgent({ databaseUrl: database.url })).rejects.toThrow(
    /Another process uses the SQLite database .*set DATABASE_URL/,
  );
  const ana = await first.createUser();
  expect((await ana.say(await ana.createSession(), 'hello')).body.message.status).toBe('complete');
  await first[Symbol.asyncDispose]();
  await using _next = await startTestAgent({ databaseUrl: database.url });
});

test('times of messages and sessions are those of the database, whatever clock the instance has', async () => {
  await using database = await createTestDatabase('postgres');
  await using agent = await startAgentProcess({
    DATABASE_URL: database.url,
    NODE_OPTIONS: `--import ${shiftClock(200_000)}`,
  });
  const ana = await agent.createUser();
  const session = (await ana.send('POST', '/sessions')).body;
  await ana.say(session.sessionId, 'hello');
  const messages = await ana.messages(session.sessionId);
  const times = [session.createdAt, ...messages.map(({ createdAt }) => createdAt)].map(Date.parse);
  expect(times).toHaveLength(3);
  for (const time of times) expect(time - Date.now()).toBeLessThan(100_000);
});

describe('alone on SQLite', () => {
  it('more interrupted runs than one sweep takes are all continued', async () => {
    await using agent = await startTestAgent({ engine: 'sqlite' });
    const ana = await agent.createUser();
    await ana.say(await ana.createSession(), 'hello');
    const store = await openStore<never>(agent.databaseUrl);
    // One run of an instance that died, in 230 sessions.
    await sql`with recursive copy (n) as (select 1 union all select n + 1 from copy where n < 230)
      insert into agent_session (id, user_did, title, named, room_id, created_at, updated_at, run_count)
      select 'copy-' || n, user_did, title, named, room_id, created_at, updated_at, run_count from agent_session, copy`.execute(
      store.db,
    );
    const input = JSON.stringify({ sendId: 'send-1', body: { stream: false, returnAllMessages: false } });
    await sql`insert into agent_run (id, session_id, user_did, request_id, message_id, instance, status, model, created_at,
        number, active, epoch, input)
      select 'run-' || session.id, session.id, run.user_did, 'r', 'answer-' || session.id, 'gone', 'running', run.model,
        run.created_at, 1, 1, 1, ${input} from agent_session as session, agent_run as run
      where session.id like 'copy-%'`.execute(store.db);
    await sql`insert into agent_message (id, session_id, run_id, position, number, type, content, status, request_id, created_at)
      select 'question-' || id, session_id, id, id || ':0', 2, 'human', 'hello', 'complete', 'r', created_at
      from agent_run where id like 'run-%'`.execute(store.db);
    await agent.restart();
    const live = async () =>
      (await sql<{ n: number }>`select count(*) as n from agent_run where ended_at is null`.execute(store.db)).rows[0]
        ?.n;
    await waitFor('all ends', async () => (await live()) === 0, 30_000);
    await store.close();
  });

  it('approvals that are answered in the same moment after a restart all continue their runs', async () => {
    await using dir = await createTempDir();
    await using agent = await startTestAgent({ engine: 'sqlite', plugins: [createBank(`${dir.path}/paid`)] });
    const ana = await agent.createUser();
    const asked = await Promise.all(
      Array.from({ length: 12 }, async () => (await ask(ana, await ana.createSession(), pay(50))).asked),
    );
    await agent.restart();
    // Not all at once: each may come while the runs before it are being looked for.
    for (const approval of asked) await answerOf(ana, approval, true);
    await waitFor('all payments', () => readPaid(`${dir.path}/paid`).length === asked.length, 10_000);
  });
});
