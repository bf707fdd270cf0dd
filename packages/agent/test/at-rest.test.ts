import { randomBytes } from 'node:crypto';
import { engines, searchDatabase } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { collectFrames } from './read-frames.ts';
import { startTestAgent, type TestUser } from './test-agent.ts';

const canary = 'Xylophonezebra';
const key = () => randomBytes(32).toString('hex');

/** Puts the canary into everything that keeps a user's words; gives the session. */
async function leaveTraces(user: TestUser): Promise<string> {
  const session = (await user.send('POST', '/sessions', { title: canary, metadata: { note: canary } })).body.sessionId;
  const unnamed = await user.createSession();
  await user.say(unnamed, `${canary} names this session`);
  await user.say(session, `call me ${canary}`);
  await user.say(session, `remember that my dog is called ${canary}`);
  await user.say(session, `/tool schedule_task {"prompt":"say ${canary}","in":"60 minutes"}`);
  await (await user.stream(session, `tell me about ${canary}`)).text();
  await user.send('POST', `/messages/${session}`, { message: canary }, { 'idempotency-key': 'one' });
  return session;
}

async function expectWhole(user: TestUser, session: string): Promise<void> {
  const sessions = (await user.send('GET', '/sessions')).body.sessions as { title: string }[];
  expect(sessions.every(({ title }) => title.includes(canary))).toBe(true);
  expect(JSON.stringify(await user.messages(session))).toContain(`tell me about ${canary}`);
  for (const query of [canary, canary.toLowerCase().slice(0, 5), 'dog']) {
    const { memories } = (await user.send('GET', `/memory?query=${query}`)).body;
    expect(memories.map(({ text }: { text: string }) => text)).toEqual([expect.stringContaining(canary)]);
  }
  expect((await user.send('GET', '/memory?query=xylophonist')).body.total).toBe(0);
  expect((await user.send('GET', '/user-preferences')).body.preferences.userName).toBe(canary);
  expect(JSON.stringify((await user.send('GET', '/tasks')).body)).toContain(canary);
}

describe.each(engines)('what the agent keeps on %s', (engine) => {
  test('is encrypted where there is a key: words of users are nowhere in the database, and everything works', async () => {
    await using agent = await startTestAgent({ engine, env: { DATA_ENCRYPTION_KEY: key() } });
    const user = await agent.createUser();
    const session = await leaveTraces(user);
    const streamed = await collectFrames(await user.stream(session, `again ${canary}`));
    expect(await searchDatabase(agent.databaseUrl, [canary])).toEqual([]);
    await expectWhole(user, session);
    expect(await collectFrames(await user.follow(streamed[0]?.data.runId))).toEqual(streamed);
    // The same key and the same body is the same send, another body is refused.
    const send = (message: string) =>
      user.send('POST', `/messages/${session}`, { message }, { 'idempotency-key': 'one' });
    expect((await send(canary)).status).toBe(200);
    expect((await send('another')).status).toBe(422);
    await agent.restart();
    expect(await collectFrames(await user.follow(streamed[0]?.data.runId))).toEqual(streamed);
    await expectWhole(user, session);
    expect(JSON.stringify((await user.send('GET', '/me/export')).body)).toContain(canary);
    await user.send('DELETE', '/me');
    expect((await user.send('GET', '/sessions')).body.total).toBe(0);
    expect(await searchDatabase(agent.databaseUrl, [canary, user.did])).toEqual([]);
  });

  test('from before there was a key is read, and found by its words', async () => {
    const env: Record<string, string> = {};
    await using agent = await startTestAgent({ engine, env });
    const user = await agent.createUser();
    const session = await leaveTraces(user);
    expect(await searchDatabase(agent.databaseUrl, [canary])).not.toEqual([]);
    env.DATA_ENCRYPTION_KEY = key();
    await agent.restart();
    await expectWhole(user, session);
    expect((await searchDatabase(agent.databaseUrl, [canary])).filter((place) => place.includes('memory'))).toEqual([]);
    env.DATA_ENCRYPTION_KEY = key();
    await expect(agent.restart()).rejects.toThrow('DATA_ENCRYPTION_KEY does not fit this database');
  });
});
