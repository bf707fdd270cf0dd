import { setTimeout as sleep } from 'node:timers/promises';
import { engines, waitFor } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { openSocket } from './connect-socket.ts';
import { collectFrames, readFrames, readUntil, textOf } from './read-frames.ts';
import { createAgentInstances } from './start-agent-process.ts';

// On PostgreSQL an instance counts as dead after 10 s without a heartbeat.
describe.concurrent.each(engines)('the process on %s', (engine) => {
  test('killed in mid-turn, resumes the run, without a character lost or doubled', async () => {
    await using agent = await createAgentInstances(engine);
    const { process: first, user: before } = await agent.start();
    const sessionId = await before.createSession();
    const response = await before.stream(sessionId, '/long 300');
    const runId = response.headers.get('x-run-id') ?? '';
    const frames = readFrames(response);
    await readUntil(frames, 'message');
    const cut = expect(readUntil(frames, 'done')).rejects.toThrow();
    await sleep(1_500); // frames are stored every second
    first.kill('SIGKILL');
    await first.exited;
    await cut;

    const { user } = await agent.start();
    expect(await user.liveRun(sessionId)).toMatchObject({ runId });
    const replay = await collectFrames(await user.follow(runId));
    expect(replay.map(({ id }) => id)).toEqual(replay.map((_, index) => index + 1));
    expect(textOf(replay)).toMatch(/^word1 word2 .* word299 word300$/);
    expect(textOf(replay).split(' ')).toHaveLength(300);
    expect(replay.at(-1)?.data.status).toBe('complete');
    const messages = await user.messages(sessionId);
    expect(messages[1]).toMatchObject({ status: 'complete', content: textOf(replay) });
    expect((await user.say(sessionId, 'hello')).body.message.status).toBe('complete');
  });

  test('killed twice in the same turn, is not given it a third time, and the answer says so', async () => {
    await using agent = await createAgentInstances(engine, { OFFLINE_WORDS_PER_SECOND: '200' });
    let { process, user } = await agent.start();
    const sessionId = await user.createSession();
    const response = await user.stream(sessionId, '/long 10000');
    const runId = response.headers.get('x-run-id') ?? '';
    await response.body?.cancel();
    for (const after of [50, 1_000]) {
      // More than the owner before it can have stored.
      await readUntil(readFrames(await user.follow(runId, `?after=${after}`)), 'message');
      process.kill('SIGKILL');
      await process.exited;
      ({ process, user } = await agent.start());
    }
    await waitFor('the end of the run', async () => (await user.liveRun(sessionId)) === null);
    const answer = (await user.messages(sessionId)).at(-1);
    expect(answer).toMatchObject({ status: 'failed', error: { retryable: false } });
    expect(answer.error.message).toMatch(/^Two instances of the service died/);
    expect((await user.say(sessionId, 'hello')).body.message.status).toBe('complete');
  });

  test('killed while a tool with side effects runs, ends the run failed with what was said', async () => {
    await using agent = await createAgentInstances(engine);
    const { process: first, user: before, url } = await agent.start();
    const sessionId = await before.createSession();
    const tools = [{ name: 'slow', description: 'Never answers', schema: { type: 'object' } }];
    const page = openSocket(url, { query: { sessionId }, auth: { invocation: before.invocation } });
    await page.event('connected');
    const response = await before.stream(sessionId, '/tool slow', { tools });
    const runId = response.headers.get('x-run-id') ?? '';
    const frames = readFrames(response);
    await page.event('browser_tool_call');
    const cut = expect(readUntil(frames, 'done')).rejects.toThrow();
    await sleep(1_500); // frames are stored every second
    page.socket.disconnect();
    first.kill('SIGKILL');
    await first.exited;
    await cut;

    const { user } = await agent.start();
    await waitFor('the end of the run', async () => (await user.liveRun(sessionId)) === null);
    const messages = await user.messages(sessionId);
    expect(messages).toMatchObject([
      { type: 'human', content: '/tool slow', status: 'complete' },
      { type: 'ai', status: 'failed', toolCalls: [{ name: 'slow', status: 'error' }] },
    ]);
    const replay = await collectFrames(await user.follow(runId));
    expect(replay.slice(-2).map(({ event }) => event)).toEqual(['error', 'done']);
    expect(replay.at(-1)?.data).toMatchObject({ status: 'failed', messageId: messages[1].id });
    expect((await user.say(sessionId, 'hello')).body.message.status).toBe('complete');
  });

  test('stopped by a signal, finishes a short turn, takes nothing new and exits 0', async () => {
    await using agent = await createAgentInstances(engine);
    const { process: running, user, url } = await agent.start();
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

test.concurrent('stopped by a signal, ends a long turn in time with what it has, and exits 0', async () => {
  await using agent = await createAgentInstances('sqlite');
  const { process: running, user } = await agent.start();
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
