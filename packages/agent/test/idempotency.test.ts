import { engines } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collectFrames } from './read-frames.ts';
import { startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

describe.each(engines)('Idempotency-Key on %s', (engine) => {
  let agent: TestAgent;
  let ana: TestUser;
  beforeAll(async () => {
    agent = await startTestAgent({ engine });
    ana = await agent.createUser();
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  const send = (user: TestUser, sessionId: string, key: string, body: Record<string, unknown>) =>
    user.send('POST', `/messages/${sessionId}`, body, { 'idempotency-key': key });

  test('the same message is stored once, answered each time with the same run', async () => {
    const sessionId = await ana.createSession();
    const replies = await Promise.all(
      Array.from({ length: 4 }, () => send(ana, sessionId, 'k1', { message: 'hello' })),
    );
    replies.push(await send(ana, sessionId, 'k1', { message: 'hello' }));
    expect(replies.map(({ status }) => status)).toEqual(Array(5).fill(200));
    expect(new Set(replies.map(({ headers }) => headers.get('x-run-id'))).size).toBe(1);
    for (const { body } of replies) expect(body.message).toEqual(replies[0]?.body.message);
    expect(await ana.messages(sessionId)).toHaveLength(2);
  });

  test('a stream that is sent again is the same stream, live and after a restart', async () => {
    const sessionId = await ana.createSession();
    const stream = () =>
      fetch(`${agent.url}/messages/${sessionId}`, {
        method: 'POST',
        headers: { ...ana.headers, 'content-type': 'application/json', 'idempotency-key': 'k2' },
        body: JSON.stringify({ message: '/long 20', stream: true }),
      });
    const [first, second] = await Promise.all([stream(), stream()]);
    const frames = await collectFrames(first);
    expect(frames.at(-1)?.data.status).toBe('complete');
    expect(await collectFrames(second)).toEqual(frames);
    await agent.restart();
    expect(await collectFrames(await stream())).toEqual(frames);
    expect(await ana.messages(sessionId)).toHaveLength(2);
  });

  test('another body or session under the same key is refused; another user has keys of their own', async () => {
    const [sessionId, other] = [await ana.createSession(), await ana.createSession()];
    await send(ana, sessionId, 'k3', { message: 'hello' });
    const reused = { status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } };
    expect(await send(ana, sessionId, 'k3', { message: 'bye' })).toMatchObject(reused);
    expect(await send(ana, other, 'k3', { message: 'hello' })).toMatchObject(reused);
    expect(await ana.messages(other)).toEqual([]);
    const ben = await agent.createUser();
    expect((await send(ben, await ben.createSession(), 'k3', { message: 'hello' })).status).toBe(200);
    expect(await send(ben, sessionId, 'k3', { message: 'hello' })).toMatchObject({ status: 422 });
  });

  test('a key must be short and printable, and a refused message has not used it', async () => {
    const sessionId = await ana.createSession();
    for (const key of ['x'.repeat(256), 'a b', 'é'])
      expect(await send(ana, sessionId, key, { message: 'hello' })).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_FAILED', issues: [{ path: 'idempotency-key' }] },
      });
    expect((await send(ana, sessionId, 'k4', { message: 'hello', model: 'unknown' })).status).toBe(400);
    expect((await send(ana, sessionId, 'k4', { message: 'hello' })).status).toBe(200);
  });
});
