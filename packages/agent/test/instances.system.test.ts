import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '@palaver/store';
import { waitFor } from '@palaver/test-kit';
import { startTcpProxy, type TcpProxy } from '@palaver/test-kit/servers';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { collectFrames, readFrames, readUntil, textOf } from './read-frames.ts';
import { type AgentInstance, createAgentInstances } from './start-agent-process.ts';
import { request } from './test-agent.ts';

const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index + 1}`).join(' ');

interface Instance extends AgentInstance {
  /** The name of its connections in PostgreSQL. */
  name: string;
  line: TcpProxy;
}

/** Instances of one agent on one PostgreSQL, each with a line of its own to it. */
async function startInstances(count: number) {
  const opened = new AsyncDisposableStack();
  const agent = opened.use(await createAgentInstances('postgres'));
  const start = async (name: string): Promise<Instance> => {
    const url = new URL(agent.databaseUrl);
    const line = opened.use(await startTcpProxy(Number(url.port)));
    Object.assign(url, { port: line.port, search: `?application_name=${name}` });
    return { name, line, ...(await agent.start({ DATABASE_URL: url.href })) };
  };
  const instances = await Promise.all(Array.from({ length: count }, (_, index) => start(`agent${index}`)));
  return {
    instances: instances as [Instance, Instance, Instance],
    databaseUrl: agent.databaseUrl,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
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
      and run.started_at is not null and coalesce(to_jsonb(new)->>'type', 'ai') = 'ai';
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

describe.concurrent('several processes on one PostgreSQL', () => {
  test('killed: another takes over the run, and its reader follows by the run id', async () => {
    await using agent = await startInstances(2);
    const [one, two] = agent.instances;
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

  test('late with its heartbeat, frozen or cut off: another owner continues, and turns of a session never overlap', async () => {
    await using agent = await startInstances(3);
    const [frozen, cutOff, third] = agent.instances;
    const writes = await logWrites(agent.databaseUrl);
    const runs = await Promise.all(
      [frozen, cutOff].map(async ({ user }) => {
        const sessionId = await user.createSession();
        const response = await user.stream(sessionId, '/long 300');
        await readUntil(readFrames(response), 'message');
        const queued = third.user.say(sessionId, '/long 5');
        await waitFor('the second question', async () => (await third.user.messages(sessionId)).length === 2);
        return { sessionId, runId: response.headers.get('x-run-id') ?? '', queued };
      }),
    );
    await waitFor('frames of both owners', async () => (await writes.read()).filter(isFrame).length >= 2);
    frozen.process.kill('SIGSTOP');
    cutOff.line.stall();
    await waitFor('new owners', async () => {
      const taken = (await writes.read()).filter(({ epoch }) => epoch === 2);
      return new Set(taken.map(({ run_id }) => run_id)).size === 2;
    });
    // While the new owner writes, both continue and try to write what they had.
    frozen.process.kill('SIGCONT');
    cutOff.line.restore();
    for (const [index, { sessionId, runId, queued }] of runs.entries()) {
      const all = await collectFrames(await third.user.follow(runId));
      expect([textOf(all), all.at(-1)?.data.status]).toEqual([words(300), 'complete']);
      expect((await queued).body.message).toMatchObject({ status: 'complete', content: words(5) });
      const owner = agent.instances[index];
      if (!owner) throw new Error('no owner');
      await waitFor('the former owner', async () => (await request(`${owner.url}/health`)).status === 200);
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

  test('stopped by a signal: a turn longer than the grace and those that wait move to another', async () => {
    await using agent = await startInstances(2);
    const [one, two] = agent.instances;
    const sessionId = await one.user.createSession();
    const response = await one.user.stream(sessionId, '/long 400');
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
    expect(textOf([...begun, ...rest])).toBe(words(400));
    expect(rest.at(-1)?.data.status).toBe('complete');
    expect((await collectFrames(await two.user.follow(queuedId))).at(-1)?.data.status).toBe('complete');
  });
});
