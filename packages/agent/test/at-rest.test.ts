import { randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
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
  const last = (await user.messages(session)).at(-1);
  const { body } = await user.send('POST', `/sessions/${session}/fork`, { messageId: last.id });
  expect(JSON.stringify(await user.messages(body.sessionId))).toContain(`tell me about ${canary}`);
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
    await expect(agent.restart()).rejects.toThrow('DATA_ENCRYPTION_KEY is not the key of this database');
  });
});

test('one damaged cell hides nothing else: lists and the export name it and show the rest', async () => {
  await using agent = await startTestAgent({ engine: 'sqlite', env: { DATA_ENCRYPTION_KEY: key() } });
  const user = await agent.createUser();
  const session = await leaveTraces(user);
  await user.say(session, 'remember that my cat is called Tom');
  using database = new DatabaseSync(agent.databaseUrl.slice('file:'.length));
  const damage = (table: string, column: string) =>
    database.exec(`update ${table} set ${column} = substr(${column}, 1, length(${column}) - 4) || 'AAAA'
      where rowid = (select min(rowid) from ${table} where ${column} is not null)`);
  damage('agent_session', 'metadata');
  damage('agent_session', 'title');
  damage('agent_message', 'content');
  damage('agent_message', 'extras');
  damage('agent_memory', 'text');
  damage('agent_task', 'prompt');
  damage('agent_preferences', 'record');

  const exported = await user.send('GET', '/me/export');
  expect(exported.status).toBe(200);
  const { data } = exported.body as { data: Record<string, { unreadable?: string[] }[]> };
  const named = Object.entries(data).flatMap(([table, rows]) =>
    rows.flatMap(({ unreadable = [] }) => unreadable.map((column) => `${table}.${column}`)),
  );
  expect(named.sort()).toEqual([
    'agent_memory.text',
    'agent_message.content',
    'agent_message.extras',
    'agent_preferences.record',
    'agent_session.metadata',
    'agent_session.title',
    'agent_task.prompt',
  ]);
  expect(JSON.stringify(exported.body)).toContain(`tell me about ${canary}`);
  const titles = (await user.send('GET', '/sessions')).body.sessions.map(({ title }: { title: string }) => title);
  expect(titles).toEqual(expect.arrayContaining(['[unreadable]', expect.stringContaining(canary)]));
  const { memories } = (await user.send('GET', '/memory')).body;
  expect(memories.map(({ text }: { text: string }) => text)).toEqual([expect.stringContaining('Tom'), '[unreadable]']);
  expect((await user.send('GET', '/tasks')).body.tasks).toMatchObject([{ prompt: '[unreadable]' }]);
  expect((await user.send('GET', '/user-preferences')).body).toEqual({ preferences: {} });
  const damaged = data.agent_message?.find(({ unreadable }) => unreadable?.includes('content')) as
    | { session_id: string }
    | undefined;
  const history = JSON.stringify(await user.messages(damaged?.session_id ?? ''));
  expect(history).toContain('[unreadable]');
  expect((await user.say(damaged?.session_id ?? '', 'still there?')).status).toBe(200);
  const metrics = await (await fetch(`${agent.url}/metrics`)).text();
  expect(metrics).toMatch(/database_unreadable_cells_total{table="agent_memory",column="text",.*} [1-9]/);
  expect(agent.log().match(/"place":"agent_memory.text"/g)).toHaveLength(1);
});
