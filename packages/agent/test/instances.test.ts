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
  process: TestProcess;
  user: TestUser;
}

/** Instances of one agent as processes on one PostgreSQL, without Redis, and one user who speaks to each. */
async function startInstances(count: number) {
  const database = await createTestDatabase('postgres');
  const dir = await createTempDir();
  cleanups.push(
    () => database[Symbol.asyncDispose](),
    () => dir[Symbol.asyncDispose](),
  );
  const key = await createSigner();
  const signer = await createSigner();
  const start = async (): Promise<Instance> => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const env = {
      PORT: String(port),
      DATA_DIR: dir.path,
      DATABASE_URL: database.url,
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
    await waitFor('the service', async () => (await request(`${url}/health`)).status === 200, 30_000);
    return { process: started, user: await createTestUser({ url: () => url, audience: key.did(), signer }) };
  };
  const instances: Instance[] = [];
  for (let index = 0; index < count; index += 1) instances.push(await start());
  return { instances: instances as [Instance, Instance], databaseUrl: database.url };
}

describe('several processes on one PostgreSQL', () => {
  test('killed: another takes the run up, and its reader moves on by the run id', { timeout: 60_000 }, async () => {
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

  test('frozen beyond its heartbeat: one answer, complete, and the run is not carried out twice', {
    timeout: 90_000,
  }, async () => {
    const { instances, databaseUrl } = await startInstances(2);
    const [one, two] = instances;
    const sessionId = await one.user.createSession();
    const response = await one.user.stream(sessionId, '/long 60');
    const runId = response.headers.get('x-run-id') ?? '';
    const frames = readFrames(response);
    await readUntil(frames, 'message');
    await sleep(1_200);
    one.process.kill('SIGSTOP');
    const store = await openStore<never>(databaseUrl);
    const readEpoch = async () => {
      const { rows } = await sql<{ epoch: number }>`select epoch from agent_run where id = ${runId}`.execute(store.db);
      return rows[0]?.epoch;
    };
    await waitFor('a new owner', async () => (await readEpoch()) === 2, 30_000);
    one.process.kill('SIGCONT');
    const all = await collectFrames(await two.user.follow(runId));
    expect(textOf(all)).toBe(words(60));
    expect(all.at(-1)?.data.status).toBe('complete');
    await Promise.allSettled([readUntil(frames, 'done')]);
    const messages = await two.user.messages(sessionId);
    expect(messages).toHaveLength(2);
    expect(messages[1]).toMatchObject({ status: 'complete', content: words(60) });
    expect(await readEpoch()).toBe(2);
    await store.close();
    expect((await one.user.say(sessionId, 'hello')).body.message.status).toBe('complete');
  });

  test('told to stop: a turn longer than the grace and those that wait move to another', {
    timeout: 90_000,
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
