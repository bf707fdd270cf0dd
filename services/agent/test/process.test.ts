import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  createTempDir,
  createTestDatabase,
  type Engine,
  engines,
  freePort,
  startProcess,
  type TestProcess,
  waitFor,
} from '@palaver/test-kit';
import { createSigner } from '@palaver/ucan';
import { afterEach, describe, expect, test } from 'vitest';
import { collectFrames, readFrames, readUntil, textOf } from './read-frames.ts';
import { createTestUser, request } from './test-agent.ts';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** What is needed to start the service as a process, more than once, and to speak to it. */
async function prepare(engine: Engine) {
  const database = await createTestDatabase(engine);
  const dir = await createTempDir();
  cleanups.push(
    () => database[Symbol.asyncDispose](),
    () => dir[Symbol.asyncDispose](),
  );
  const key = await createSigner();
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
  const user = await createTestUser({ url: () => url, audience: key.did() });
  return {
    url,
    user,
    async start(): Promise<TestProcess> {
      const started = startProcess(process.execPath, [main], { env });
      cleanups.push(async () => {
        started.kill();
        await started.exited;
      });
      await waitFor('the service', async () => (await request(`${url}/health`)).status === 200, 20_000);
      return started;
    },
  };
}

describe.each(engines)('the process on %s', (engine) => {
  test('killed in mid-turn, leaves the session usable and the run failed with its partial answer', async () => {
    const { start, user } = await prepare(engine);
    const first = await start();
    const sessionId = await user.createSession();
    const response = await user.stream(sessionId, '/long 100000');
    const runId = response.headers.get('x-run-id') ?? '';
    const frames = readFrames(response);
    await readUntil(frames, 'message');
    const cut = expect(readUntil(frames, 'done')).rejects.toThrow();
    await sleep(3_500); // checkpoints are written every two seconds
    first.kill('SIGKILL');
    await first.exited;
    await cut;

    await start();
    expect(await user.liveRun(sessionId)).toBeNull();
    const messages = await user.messages(sessionId);
    expect(messages).toMatchObject([
      { type: 'human', content: '/long 100000', status: 'complete' },
      { type: 'ai', status: 'failed', content: expect.stringMatching(/^word1 word2 /) },
    ]);
    const replay = await collectFrames(await user.follow(runId));
    expect(replay.map(({ event }) => event)).toEqual(['run', 'message', 'error', 'done']);
    expect(textOf(replay)).toBe(messages[1].content);
    expect(replay.at(-1)?.data).toMatchObject({ status: 'failed', messageId: messages[1].id });
    expect((await user.say(sessionId, 'hello')).body.message.status).toBe('complete');
  });

  test('told to stop, finishes a short turn, takes nothing new and exits 0', async () => {
    const { start, user, url } = await prepare(engine);
    const running = await start();
    const sessionId = await user.createSession();
    const frames = readFrames(await user.stream(sessionId, '/long 40'));
    const begun = await readUntil(frames, 'message');
    running.kill('SIGTERM');
    await running.printed('SIGTERM: stopping');
    await sleep(300);
    const late = await fetch(`${url}/health`).then(
      ({ status }) => status,
      () => 'refused',
    );
    expect([503, 'refused']).toContain(late);
    const all = [...begun, ...(await readUntil(frames, 'done'))];
    expect(all.at(-1)?.data.status).toBe('complete');
    expect(textOf(all)).toMatch(/word40$/);
    expect(await running.exited).toBe(0);
    expect(running.output()).not.toContain('Not everything ended in time');
  });
});

test('told to stop, ends a long turn in time with what it has, and exits 0', async () => {
  const { start, user } = await prepare('sqlite');
  const running = await start();
  const sessionId = await user.createSession();
  const frames = readFrames(await user.stream(sessionId, '/long 100000'));
  await readUntil(frames, 'message');
  running.kill('SIGTERM');
  const rest = await readUntil(frames, 'done');
  expect(rest.slice(-2)).toMatchObject([
    { event: 'error', data: { code: 'UNAVAILABLE', retryable: true } },
    { event: 'done', data: { status: 'failed' } },
  ]);
  expect(await running.exited).toBe(0);
  expect(running.output()).not.toContain('Not everything ended in time');
});
