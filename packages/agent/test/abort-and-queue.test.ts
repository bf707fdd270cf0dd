import { engines, waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGate } from './gate-plugin.ts';
import { collectFrames, readFrames, readUntil, textOf } from './read-frames.ts';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

describe.each(engines)('abort and queue on %s', (engine) => {
  const gate = createGate();
  let agent: TestAgent;
  let ana: TestUser;

  beforeAll(async () => {
    agent = await startTestAgent({ engine, plugins: [gate.plugin] });
    ana = await agent.createUser();
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  const aborted = { status: 200, body: { ok: true, aborted: true, success: true } };
  const nothing = { status: 200, body: { ok: true, aborted: false, success: false } };

  test('stops a stream and keeps what it had', async () => {
    const sessionId = await ana.createSession();
    const frames = readFrames(await ana.stream(sessionId, '/long 10000'));
    const begun = await readUntil(frames, 'message');
    expect(await ana.abort(sessionId)).toMatchObject(aborted);
    const all = [...begun, ...(await readUntil(frames, 'done'))];
    expect(all.at(-1)?.data.status).toBe('aborted');
    expect(all.some(({ event }) => event === 'error')).toBe(false);
    expect(await frames.next()).toMatchObject({ done: true });
    const [, answer] = await ana.messages(sessionId);
    expect(answer).toMatchObject({ status: 'aborted', content: textOf(all), id: all.at(-1)?.data.messageId });
    expect(await ana.abort(sessionId)).toMatchObject(nothing);
    expect(await ana.liveRun(sessionId)).toBeNull();
  });

  test('is answered before the stream closes', async () => {
    for (let round = 0; round < 10; round += 1) {
      const sessionId = await ana.createSession();
      const order: string[] = [];
      const frames = readFrames(await ana.stream(sessionId, '/tool gate'));
      await gate.reached();
      const closing = readUntil(frames, 'done').then(() => order.push('closed'));
      await ana.abort(sessionId).then(() => order.push('answered'));
      await closing;
      expect(order).toEqual(['answered', 'closed']);
    }
  });

  test('stops a send without stream, which answers 200 with the partial message', async () => {
    const sessionId = await ana.createSession();
    const answer = ana.say(sessionId, '/tool gate', { returnAllMessages: true });
    await gate.reached();
    expect(await ana.abort(sessionId)).toMatchObject(aborted);
    const { status, body } = await answer;
    expect(status).toBe(200);
    expect(body.message).toMatchObject({ status: 'aborted', toolCalls: [{ name: 'gate', status: 'error' }] });
    expect(body.messages[1]).toEqual(body.message);
    expect(gate.waiting()).toBe(0); // the tool was cancelled by its signal
  });

  test('needs a session id and a running turn', async () => {
    const sessionId = await ana.createSession();
    expect(await ana.abort(sessionId)).toMatchObject(nothing);
    for (const body of [{}, { sessionId: 7 }, { sessionId: '' }])
      expect(await ana.send('POST', '/messages/abort', body)).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_FAILED', issues: [{ path: 'sessionId' }] },
      });
  });

  test('the next turn continues after an abort, one that waited included', async () => {
    const sessionId = await ana.createSession();
    const first = ana.say(sessionId, '/tool gate');
    await gate.reached();
    const second = await ana.stream(sessionId, '/tool gate');
    expect(await ana.abort(sessionId)).toMatchObject(aborted);
    expect((await first).body.message.status).toBe('aborted');
    await gate.reached();
    expect(await ana.abort(sessionId)).toMatchObject(aborted);
    expect((await collectFrames(second)).at(-1)?.data.status).toBe('aborted');
    expect((await ana.say(sessionId, 'hello')).body.message.status).toBe('complete');
    expect((await ana.messages(sessionId)).map(({ status }: { status: string }) => status)).toEqual([
      'complete',
      'aborted',
      'complete',
      'aborted',
      'complete',
      'complete',
    ]);
  });

  test('eight wait behind the running turn, the ninth is refused, and all are answered in order', async () => {
    const sessionId = await ana.createSession();
    const ended: number[] = [];
    const send = async (number: number) => {
      const reply = await ana.say(sessionId, '/tool gate', { metadata: { number } });
      ended.push(number);
      return reply;
    };
    const sends: ReturnType<typeof send>[] = [];
    for (let number = 0; number < 9; number += 1) {
      sends.push(send(number));
      await waitFor('the message to be stored', async () => (await ana.messages(sessionId)).length === number + 1);
    }
    for (const stream of [false, true]) {
      expect(await ana.say(sessionId, 'one too many', { stream })).toMatchObject({
        status: 409,
        body: { statusCode: 409, error: 'Conflict', code: 'SESSION_BUSY' },
      });
    }
    expect(await ana.liveRun(sessionId)).toMatchObject({ status: 'running' });
    for (let number = 0; number < 9; number += 1) {
      await gate.reached(); // never two of one session at once
      gate.open();
      await sends[number];
    }
    expect(ended).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    const messages = await ana.messages(sessionId);
    expect(messages.map(({ type }: { type: string }) => type)).toEqual(Array(9).fill(['human', 'ai']).flat());
    expect((await ana.say(sessionId, 'and on')).status).toBe(200);
  });

  test('sessions do not wait for each other', async () => {
    const [one, two] = [await ana.createSession(), await ana.createSession()];
    const held = ana.say(one, '/tool gate');
    await gate.reached();
    expect((await ana.say(two, 'hello')).body.message.status).toBe('complete');
    gate.open();
    expect((await held).body.message.status).toBe('complete');
  });

  test('a run that waits can be followed, and continues once the one before it is stopped', async () => {
    const sessionId = await ana.createSession();
    const first = await ana.stream(sessionId, '/tool gate');
    await gate.reached();
    const second = readFrames(await ana.stream(sessionId, 'hello'));
    const begun = await readUntil(second, 'run');
    const runId = begun[0]?.data.runId;
    const follower = await ana.follow(runId);
    await ana.abort(sessionId);
    gate.open();
    expect((await collectFrames(first)).at(-1)?.data.status).toBe('aborted');
    const rest = await readUntil(second, 'done');
    expect(rest.at(-1)?.data).toMatchObject({ runId, status: 'complete' });
    expect(await collectFrames(follower)).toEqual([...begun, ...rest]);
  });

  test('deleting a session stops its turns, running and waiting', async () => {
    const sessionId = await ana.createSession();
    const streams = await Promise.all([ana.stream(sessionId, '/tool gate'), ana.stream(sessionId, '/tool gate')]);
    const plain = ana.say(sessionId, 'hello');
    await gate.reached();
    await waitFor('three runs', async () => (await ana.messages(sessionId)).length === 3);
    expect((await ana.send('DELETE', `/sessions/${sessionId}`)).status).toBe(200);
    for (const stream of streams) expect((await collectFrames(stream)).at(-1)?.data.status).toBe('aborted');
    expect((await plain).body.message.status).toBe('aborted');
    await waitFor('the gate to be empty', () => gate.waiting() === 0);
    for (const stream of streams)
      expect((await ana.send('GET', `/runs/${stream.headers.get('x-run-id')}`)).status).toBe(404);
  });

  test('a session deleted while messages arrive gives 404 or an aborted answer, never a fault', async () => {
    for (let round = 0; round < 5; round += 1) {
      const sessionId = await ana.createSession();
      const sends = Array.from({ length: 6 }, () => ana.say(sessionId, 'hello'));
      const deletion = ana.send('DELETE', `/sessions/${sessionId}`);
      for (const { status } of await Promise.all([...sends, deletion])) expect([200, 404]).toContain(status);
      expect((await ana.send('GET', `/messages/${sessionId}`)).status).toBe(404);
    }
  });
});
