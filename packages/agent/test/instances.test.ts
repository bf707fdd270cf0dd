import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openStore } from '@palaver/store';
import {
  createTempDir,
  createTestDatabase,
  freePort,
  startProcess,
  type TestProcess,
  waitFor,
} from '@palaver/test-kit';
import { startTcpProxy, type TcpProxy } from '@palaver/test-kit/servers';
import { createSigner } from '@palaver/ucan';
import { sql } from 'kysely';
import { afterEach, describe, expect, test } from 'vitest';
import { collectFrames, readFrames, readUntil, textOf } from './read-frames.ts';
import { createTestUser, request, type TestUser } from './test-agent.ts';

const main = fileURLToPath(new URL('../../../services/agent/src/main.ts', import.meta.url));
const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index + 1}`).join(' ');
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Instance {
  /** Under which PostgreSQL knows its connections. */
  name: string;
  url: string;
  line: TcpProxy;
  process: TestProcess;
  user: TestUser;
}

/**
 * Instances of one agent as processes on one PostgreSQL, without Redis, each with a line of its own to the database, and one
 * user who speaks to each.
 */
async function startInstances(count: number) {
  const database = await createTestDatabase('postgres');
  const dir = await createTempDir();
  cleanups.push(
    () => database[Symbol.asyncDispose](),
    () => dir[Symbol.asyncDispose](),
  );
  const key = await createSigner();
  const signer = await createSigner();
  const start = async (name: string): Promise<Instance> => {
    const line = await startTcpProxy(Number(new URL(database.url).port));
    cleanups.push(async () => line[Symbol.asyncDispose]());
    const databaseUrl = Object.assign(new URL(database.url), { port: line.port, search: `?application_name=${name}` });
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const env = {
      PORT: String(port),
      DATA_DIR: dir.path,
      DATABASE_URL: databaseUrl.href,
      ORACLE_PRIVATE_KEY: key.toSecret(),
      LOG_LEVEL: 'warn',
      OFFLINE_WORDS_PER_SECOND: '20',
    };
    const started = startProcess(process.execPath, [main], { env });
    cleanups.push(async () => {
      started.kill('SIGCONT');
      started.kill();
      await started.exited;
    });
    await waitFor('the service', async () => (await request(`${url}/health`)).status === 200, 90_000);
    const user = await createTestUser({ url: () => url, audience: key.did(), signer });
    return { name, url, line, process: started, user };
  };
  const instances = await Promise.all(Array.from({ length: count }, (_, index) => start(`agent${index}`)));
  return { instances: instances as [Instance, Instance, Instance], database };
}

interface LoggedWrite {
  writer: string;
  table_name: string;
  run_id: string;
  session_id: string;
  number: number;
  epoch: number;
}

const isFrame = ({ table_name }: LoggedWrite) => table_name === 'agent_frame';

/** Notes every write of a run in the database, in order, with its writer and the fencing number at that moment. */
async function logWrites(databaseUrl: string) {
  const store = await openStore<never>(databaseUrl);
  await sql`create table test_write (seq bigserial, writer text, table_name text, run_id text, session_id text,
    number int, epoch int)`.execute(store.db);
  await sql`create function note_write() returns trigger language plpgsql as $$ begin
    insert into test_write (writer, table_name, run_id, session_id, number, epoch)
    select current_setting('application_name'), tg_table_name, run.id, run.session_id, run.number, run.epoch
    from agent_run run
    where run.id = case tg_table_name when 'agent_run' then to_jsonb(new)->>'id' else to_jsonb(new)->>'run_id' end
      and run.epoch > 0 and coalesce(to_jsonb(new)->>'type', 'ai') = 'ai';
    return null;
  end $$`.execute(store.db);
  for (const table of ['agent_run', 'agent_frame', 'agent_step', 'agent_message'])
    await sql`create trigger note_write after insert or update on ${sql.table(table)}
      for each row execute function note_write()`.execute(store.db);
  return {
    read: async () =>
      (await sql<LoggedWrite>`select * from test_write order by seq`.execute(store.db)).rows as LoggedWrite[],
    close: () => store.close(),
  };
}

describe('several processes on one PostgreSQL', () => {
  test('killed: another takes the run up, and its reader moves on by the run id', { timeout: 240_000 }, async () => {
    const { instances } = await startInstances(2);
    const [one, two] = instances;
    const sessionId = await one.user.createSession();
    const response = await one.user.stream(sessionId, '/long 100');
    const runId = response.headers.get('x-run-id') ?? '';
    const frames = readFrames(response);
    await readUntil(frames, 'message');
    const queued = await one.user.stream(sessionId, 'hello');
    const queuedId = queued.headers.get('x-run-id') ?? '';
    const follower = collectFrames(await two.user.follow(runId));
    await sleep(1_500);
    one.process.kill('SIGKILL');
    await Promise.allSettled([readUntil(frames, 'done'), queued.text()]);
    const all = await follower;
    expect(all.map(({ id }) => id)).toEqual(all.map((_, index) => index + 1));
    expect(textOf(all)).toBe(words(100));
    expect(all.at(-1)?.data.status).toBe('complete');
    expect((await collectFrames(await two.user.follow(queuedId))).at(-1)?.data.status).toBe('complete');
    const messages = await two.user.messages(sessionId);
    expect(messages.map(({ type, status }) => [type, status])).toEqual([
      ['human', 'complete'],
      ['ai', 'complete'],
      ['human', 'complete'],
      ['ai', 'complete'],
    ]);
    expect(messages[1].content).toBe(words(100));
  });

  test('late with its heartbeat, frozen or cut off: another owner continues, and turns of a session never overlap', {
    timeout: 240_000,
  }, async () => {
    const { instances, database } = await startInstances(3);
    const [frozen, cutOff, third] = instances;
    const writes = await logWrites(database.url);
    const runs = await Promise.all(
      [frozen, cutOff].map(async ({ user }) => {
        const sessionId = await user.createSession();
        const response = await user.stream(sessionId, '/long 60');
        await readUntil(readFrames(response), 'message');
        const queued = third.user.say(sessionId, '/long 5');
        await waitFor('the second question', async () => (await third.user.messages(sessionId)).length === 2);
        return { sessionId, runId: response.headers.get('x-run-id') ?? '', queued };
      }),
    );
    await waitFor('frames of both owners', async () => (await writes.read()).filter(isFrame).length >= 2);
    frozen.process.kill('SIGSTOP');
    cutOff.line.stall();
    await waitFor(
      'new owners',
      async () => {
        const taken = (await writes.read()).filter(({ epoch }) => epoch === 2);
        return new Set(taken.map(({ run_id }) => run_id)).size === 2;
      },
      60_000,
    );
    // While the new owner writes, both continue and try to write what they had.
    frozen.process.kill('SIGCONT');
    cutOff.line.restore();
    for (const [index, { sessionId, runId, queued }] of runs.entries()) {
      const all = await collectFrames(await third.user.follow(runId));
      expect([textOf(all), all.at(-1)?.data.status]).toEqual([words(60), 'complete']);
      expect((await queued).body.message).toMatchObject({ status: 'complete', content: words(5) });
      const owner = instances[index];
      if (!owner) throw new Error('no owner');
      await waitFor('the former owner', async () => (await request(`${owner.url}/health`)).status === 200, 90_000);
      expect((await owner.user.say(sessionId, 'hello')).body.message.status).toBe('complete');
      expect((await third.user.messages(sessionId)).map(({ status }) => status)).toEqual(Array(6).fill('complete'));

      const own = (await writes.read()).filter(({ session_id }) => session_id === sessionId);
      const writers = own.filter(({ run_id }) => run_id === runId).map(({ epoch, writer }) => [epoch, writer]);
      expect(new Set(writers.map(String))).toEqual(new Set([`1,${owner.name}`, `2,${third.name}`]));
      // Numbers of runs and epochs never decrease: nobody wrote of a run after its owner or its turn had changed.
      const order = own.map(({ number, epoch }) => number * 100 + epoch);
      expect(order).toEqual(order.toSorted((a, b) => a - b));
    }
    await writes.close();
  });

  test('told to stop: a turn longer than the grace and those that wait move to another', {
    timeout: 240_000,
  }, async () => {
    const { instances } = await startInstances(2);
    const [one, two] = instances;
    const sessionId = await one.user.createSession();
    const response = await one.user.stream(sessionId, '/long 260');
    const runId = response.headers.get('x-run-id') ?? '';
    const queued = await one.user.stream(sessionId, 'hello');
    const queuedId = queued.headers.get('x-run-id') ?? '';
    one.process.kill('SIGTERM');
    const begun = await collectFrames(response);
    expect(await one.process.exited).toBe(0);
    expect(one.process.output()).not.toContain('Not everything ended in time');
    // The stream ends without `done`, and continues on the other instance frame by frame.
    expect(begun.at(-1)?.event).toBe('message');
    const rest = await collectFrames(await two.user.follow(runId, `?after=${begun.at(-1)?.id}`));
    expect(textOf([...begun, ...rest])).toBe(words(260));
    expect(rest.at(-1)?.data.status).toBe('complete');
    expect((await collectFrames(await two.user.follow(queuedId))).at(-1)?.data.status).toBe('complete');
  });
});
