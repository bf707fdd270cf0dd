import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '@palaver/store';
import { engines } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createScriptedModel } from '../src/index.ts';
import type { AgentDatabase } from '../src/store/schema.ts';
import { createGate } from './gate-plugin.ts';
import { collectFrames, type Frame, readFrames, readUntil, textOf } from './read-frames.ts';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

describe.each(engines)('streams on %s', (engine) => {
  const gate = createGate();
  let agent: TestAgent;
  let ana: TestUser;

  beforeAll(async () => {
    agent = await startTestAgent({ engine, plugins: [gate.plugin] });
    ana = await agent.createUser();
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  test('has the headers, the frames and the order of the contract', async () => {
    const sessionId = await ana.createSession();
    const response = await fetch(`${agent.url}/messages/${sessionId}`, {
      method: 'POST',
      headers: {
        ...ana.headers,
        'content-type': 'application/json',
        'x-request-id': 'r-1',
        origin: 'https://a.example',
      },
      body: JSON.stringify({ message: 'call me Ana', stream: true }),
    });
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': 'r-1',
      'access-control-allow-origin': '*',
      'access-control-expose-headers':
        'X-Request-Id, Retry-After, X-Run-Id, X-Message-Id, Mcp-Session-Id, WWW-Authenticate',
    });
    const frames = await collectFrames(response);
    const runId = response.headers.get('x-run-id');
    const turn = { sessionId, requestId: 'r-1' };
    expect(frames.map(({ id }) => id)).toEqual(frames.map((_, index) => index + 1));
    expect(frames[0]).toMatchObject({ event: 'run', data: { runId, ...turn } });
    expect(frames.at(-1)).toMatchObject({ event: 'done', data: { runId, status: 'complete' } });
    const calls = frames.filter(({ event }) => event === 'tool_call').map(({ data }) => data);
    expect(calls).toMatchObject([
      { ...turn, toolName: 'set_user_preferences', args: { userName: 'Ana' }, status: 'isRunning' },
      { ...turn, eventId: calls[0].eventId, status: 'done', output: { userName: 'Ana' } },
    ]);
    const reasoning = frames.filter(({ event }) => event === 'reasoning').map(({ data }) => data);
    expect(reasoning.map(({ isComplete }) => isComplete)).toEqual([...reasoning.slice(1).map(() => false), true]);

    const [question, stored] = await ana.messages(sessionId);
    expect(frames[0]?.data).toMatchObject({ messageId: stored.id, userMessageId: question.id });
    expect(response.headers.get('x-message-id')).toBe(stored.id);
    expect(stored).toMatchObject({ id: frames.at(-1)?.data.messageId, content: textOf(frames), requestId: 'r-1' });
  });

  test('a reader that comes after done finds the answer stored', async () => {
    const sessionId = await ana.createSession();
    const frames = readFrames(await ana.stream(sessionId, '/long 3'));
    await readUntil(frames, 'done');
    expect(await ana.messages(sessionId)).toHaveLength(2);
  });

  test('a failed turn says why and still ends with done; what came is kept', async () => {
    const env = { TURN_TIMEOUT_MS: '1000', OFFLINE_WORDS_PER_SECOND: '5' };
    await using hasty = await startTestAgent({ engine, env });
    const ben = await hasty.createUser();
    const sessionId = await ben.createSession();
    const frames = await collectFrames(await ben.stream(sessionId, '/long 1000'));
    expect(frames.slice(-2)).toMatchObject([
      { event: 'error', data: { code: 'TURN_LIMIT_EXCEEDED', kind: 'timeout', retryable: true } },
      { event: 'done', data: { status: 'failed' } },
    ]);
    const reply = await ben.say(sessionId, '/long 1000');
    expect(reply).toMatchObject({ status: 200, body: { message: { status: 'failed' } } });
    expect((await ben.messages(sessionId)).map(({ status }: Frame['data']) => status)).toEqual([
      'complete',
      'failed',
      'complete',
      'failed',
    ]);
    expect((await ben.messages(sessionId))[1].content).toBe(textOf(frames));
    expect(textOf(frames)).toMatch(/^word1 /);
  });

  test('a client that vanishes leaves the run running, and any client of the user resumes it', async () => {
    const sessionId = await ana.createSession();
    const leave = new AbortController();
    const response = await fetch(`${agent.url}/messages/${sessionId}`, {
      method: 'POST',
      headers: { ...ana.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ message: '/tool gate', stream: true }),
      signal: leave.signal,
    });
    const runId = response.headers.get('x-run-id') ?? '';
    await gate.reached();
    leave.abort();
    await sleep(50);
    expect(await ana.liveRun(sessionId)).toEqual({ runId, status: 'running' });

    const followers = await Promise.all([
      ana.follow(runId),
      ana.follow(runId, '?after=2'),
      ana.follow(runId, '?after=2'),
    ]);
    gate.open();
    const [all, ...rest] = await Promise.all(followers.map(collectFrames));
    expect(all?.at(-1)).toMatchObject({ event: 'done', data: { status: 'complete' } });
    for (const frames of rest) expect(frames).toEqual(all?.slice(2));
    expect(await ana.liveRun(sessionId)).toBeNull();
    expect(await ana.messages(sessionId)).toHaveLength(2);
  });

  test('an ended run is replayed from any frame, by query or Last-Event-ID', async () => {
    const sessionId = await ana.createSession();
    const response = await ana.stream(sessionId, '/long 5');
    const runId = response.headers.get('x-run-id') ?? '';
    const frames = await collectFrames(response);
    for (let after = 0; after < frames.length; after += 1) {
      const [byQuery, byHeader] = await Promise.all([
        ana.follow(runId, `?after=${after}`),
        ana.follow(runId, '', { 'last-event-id': String(after) }),
      ]);
      expect(byQuery.headers.get('x-run-id')).toBe(runId);
      expect(byQuery.headers.get('content-type')).toBe('text/event-stream');
      expect(await collectFrames(byQuery)).toEqual(frames.slice(after));
      expect(await collectFrames(byHeader)).toEqual(frames.slice(after));
    }
    // The address an EventSource was opened with does not change; the header has the last frame that arrived.
    expect(await collectFrames(await ana.follow(runId, '?after=2', { 'last-event-id': '4' }))).toEqual(frames.slice(4));
    expect(await collectFrames(await ana.follow(runId, '?after=4', { 'last-event-id': '2' }))).toEqual(frames.slice(4));
    // Who has as many frames as are stored may lack the end: their owner may have died with some of them.
    const all = { 'last-event-id': String(frames.length) };
    const [end] = await collectFrames(await ana.follow(runId, '', all));
    expect(end).toEqual({ ...frames.at(-1), id: frames.length + 1 });
    // A number that the run has not reached: the end still comes, under the next number.
    expect(await collectFrames(await ana.follow(runId, '?after=99'))).toEqual([{ ...frames.at(-1), id: 100 }]);
    expect(await collectFrames(await ana.follow(runId, '', { 'last-event-id': 'x' }))).toEqual(frames);
    expect((await ana.send('GET', `/runs/${runId}?after=x`)).status).toBe(400);
  });

  test('a run of an earlier process is replayed frame by frame, and once those are gone from its answer', async () => {
    await using again = await startTestAgent({ engine, plugins: [] });
    const ben = await again.createUser();
    const sessionId = await ben.createSession();
    const response = await ben.stream(sessionId, '/long 5');
    const runId = response.headers.get('x-run-id') ?? '';
    const frames = await collectFrames(response);
    await again.restart();
    expect(await collectFrames(await ben.follow(runId))).toEqual(frames);
    expect(await collectFrames(await ben.follow(runId, '?after=3'))).toEqual(frames.slice(3));

    const store = await openStore<AgentDatabase>(again.databaseUrl);
    await store.db.deleteFrom('agent_frame').where('run_id', '=', runId).execute();
    await store.close();
    const replay = await collectFrames(await ben.follow(runId));
    expect(replay.map(({ id, event }) => [id, event])).toEqual([
      [1, 'run'],
      [2, 'message'],
      [3, 'done'],
    ]);
    expect(textOf(replay)).toBe(textOf(frames));
    const rest = await collectFrames(await ben.follow(runId, '?after=4'));
    expect(rest).toEqual([{ id: 5, event: 'done', data: frames.at(-1)?.data }]);
    const eve = await again.createUser();
    expect(await eve.send('GET', `/runs/${runId}`)).toMatchObject({ status: 404, body: { code: 'RUN_NOT_FOUND' } });
  });

  test('a run whose frames are gone ends as its stored answer says: why it is not whole, why it failed', async () => {
    const again = { toolCalls: [{ name: 'list_capabilities' }] };
    const model = createScriptedModel([again, { text: 'Half an answer.' }, again, again]);
    await using agent = await startTestAgent({ engine, model: () => model, maxSteps: 1 });
    const ben = await agent.createUser();
    const sessionId = await ben.createSession();
    const read = async (response: Response) => {
      const frames = await collectFrames(response);
      return frames.filter(({ event }) => event === 'error' || event === 'done').map(({ data }) => data);
    };
    const [stopped, failed] = [await ben.stream(sessionId, 'stop'), await ben.stream(sessionId, 'fail')];
    const whole = { stopped: await read(stopped), failed: await read(failed) };
    expect(whole).toMatchObject({
      stopped: [{ status: 'complete', finish: 'step_limit' }],
      failed: [{ code: 'TURN_LIMIT_EXCEEDED', kind: 'limit', retryable: false }, { status: 'failed' }],
    });
    await agent.restart();
    const store = await openStore<AgentDatabase>(agent.databaseUrl);
    await store.db.deleteFrom('agent_frame').execute();
    await store.close();
    const follow = async ({ headers }: Response) => read(await ben.follow(headers.get('x-run-id') ?? ''));
    const [error, done] = whole.failed;
    expect(await follow(stopped)).toEqual(whole.stopped);
    expect(await follow(failed)).toEqual([{ ...error, timestamp: expect.any(String) }, done]);
  });

  test('a live run is not there for anybody else', async () => {
    const sessionId = await ana.createSession();
    const response = await ana.stream(sessionId, '/tool gate');
    await gate.reached();
    const eve = await agent.createUser();
    const runId = response.headers.get('x-run-id');
    expect(await eve.send('GET', `/runs/${runId}`)).toMatchObject({ status: 404, body: { code: 'RUN_NOT_FOUND' } });
    expect((await eve.abort(sessionId)).status).toBe(404);
    expect((await eve.send('GET', `/sessions/${sessionId}/run`)).status).toBe(404);
    gate.open();
    expect((await collectFrames(response)).at(-1)?.data.status).toBe('complete');
  });
});
