import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '@palaver/store';
import { createTestDatabase, engines, testWithRedis, waitFor } from '@palaver/test-kit';
import { createSigner } from '@palaver/ucan';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { createGate } from './gate-plugin.ts';
import { collectFrames, collectText, readFrames, readUntil, textOf } from './read-frames.ts';
import { type OwnRedis, startOwnRedis } from './redis-server.ts';
import { startTestAgent, type TestAgent, type TestAgentOptions, type TestUser } from './test-agent.ts';

const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index + 1}`).join(' ');

/** Two instances of one agent on one PostgreSQL, and one user who calls either. */
async function startPair(env: Record<string, string> = {}, options: TestAgentOptions = {}) {
  const key = (await createSigner()).toSecret();
  const shared = { ...options, env: { ORACLE_PRIVATE_KEY: key, ...env } };
  const one = await startTestAgent({ ...shared, engine: 'postgres' });
  const two = await startTestAgent({ ...shared, databaseUrl: one.databaseUrl });
  const ana = await one.createUser();
  const agents: [TestAgent, TestAgent] = [one, two];
  const users: [TestUser, TestUser] = [ana, await two.createUser(ana.signer)];
  return {
    agents,
    users,
    async [Symbol.asyncDispose]() {
      await two[Symbol.asyncDispose]();
      await one[Symbol.asyncDispose]();
    },
  };
}

const statusesOf = (messages: { status: string }[]) => messages.map(({ status }) => status);

describe('PostgreSQL without Redis', () => {
  test('a second instance that starts leaves the turns of the first alone', async () => {
    const key = (await createSigner()).toSecret();
    const env = { ORACLE_PRIVATE_KEY: key };
    await using one = await startTestAgent({ env, engine: 'postgres' });
    const ana = await one.createUser();
    const sessionId = await ana.createSession();
    const answer = ana.say(sessionId, '/long 60');
    await waitFor('the run', () => ana.liveRun(sessionId));
    await using _two = await startTestAgent({ env, databaseUrl: one.databaseUrl });
    expect((await answer).body.message).toMatchObject({ status: 'complete', content: words(60) });
    const messages = await ana.messages(sessionId);
    expect(messages[1]).toMatchObject({ status: 'complete', content: words(60) });
  });

  test('turns of one session wait for each other over both instances, and either shows the live run', async () => {
    await using pair = await startPair();
    const [one, two] = pair.users;
    const sessionId = await one.createSession();
    const first = one.say(sessionId, '/long 40');
    const live = await waitFor('the run', () => two.liveRun(sessionId));
    expect(live.status).toBe('running');
    const second = two.say(sessionId, 'hello');
    await Promise.all([first, second]);
    const messages = await one.messages(sessionId);
    expect(messages.map(({ type }) => type)).toEqual(['human', 'ai', 'human', 'ai']);
    expect(messages[1].content).toBe(words(40));
    expect(statusesOf(messages)).toEqual(Array(4).fill('complete'));
  });

  test('a run is followed and aborted from the other instance', async () => {
    await using pair = await startPair();
    const [one, two] = pair.users;
    const sessionId = await one.createSession();
    const stream = await one.stream(sessionId, '/long 400');
    const there = collectText(await two.follow(stream.headers.get('x-run-id') ?? '', '?after=3'));
    const here = collectText(stream);
    await waitFor('frames on both instances', () => [here, there].every(({ text }) => text.includes('id: 5\n')));
    expect((await two.abort(sessionId)).body).toEqual({ ok: true, aborted: true, success: true });
    const whole = await here.whole;
    expect(whole).toMatch(/"status":"aborted"[^\n]*\}\n\n$/);
    expect(await there.whole).toBe(whole.slice(whole.indexOf('event: message\nid: 4\n')));
  });
});

describe('Redis under PostgreSQL', () => {
  const it = testWithRedis.extend<{ redis: OwnRedis }>({
    redis: async ({ redisUrl: _ }, use) => {
      await using redis = await startOwnRedis();
      await use(redis);
    },
  });

  it('killed in mid-turn: turns end complete, new ones are taken in, and it may come back empty', async ({ redis }) => {
    await using pair = await startPair({ REDIS_URL: redis.url });
    const [one, two] = pair.users;
    const sessionId = await one.createSession();
    const stream = await one.stream(sessionId, '/long 80');
    const running = collectFrames(stream);
    await sleep(300);
    await redis.kill();
    const frames = await running;
    expect(frames.at(-1)?.data.status).toBe('complete');
    expect(textOf(frames)).toBe(words(80));
    expect((await two.messages(sessionId))[1]).toMatchObject({ status: 'complete', content: words(80) });
    expect((await two.say(sessionId, 'hello')).body.message.status).toBe('complete');
    await redis.start();
    expect((await one.say(sessionId, 'hello')).body.message.status).toBe('complete');
    for (const { log } of pair.agents) expect(log().match(/"stack"/g)?.length ?? 0).toBeLessThan(10);
  });

  it('frozen: sends, aborts and follows are answered', async ({ redis }) => {
    await using pair = await startPair({ REDIS_URL: redis.url });
    const [one, two] = pair.users;
    const sessionId = await one.createSession();
    redis.freeze();
    try {
      const frames = readFrames(await one.stream(sessionId, '/long 400'));
      const [run] = await readUntil(frames, 'run');
      await readUntil(frames, 'message');
      const follower = readFrames(await two.follow(run?.data.runId));
      await readUntil(follower, 'message');
      expect((await two.abort(sessionId)).body.aborted).toBe(true);
      expect((await readUntil(frames, 'done')).at(-1)?.data.status).toBe('aborted');
      expect((await readUntil(follower, 'done')).at(-1)?.data.status).toBe('aborted');
    } finally {
      redis.thaw();
    }
  });

  it('flushed in mid-turn: the queue keeps its order, and a follower misses nothing', async ({ redis }) => {
    const gate = createGate();
    await using pair = await startPair({ REDIS_URL: redis.url }, { plugins: [gate.plugin] });
    const [one, two] = pair.users;
    const sessionId = await one.createSession();
    const first = await one.stream(sessionId, '/tool gate');
    const runId = first.headers.get('x-run-id') ?? '';
    await gate.reached();
    const waiting = [];
    for (const [index, user] of [two, one, two].entries()) {
      waiting.push(user.say(sessionId, '/tool gate'));
      await waitFor('the question', async () => (await one.messages(sessionId)).length === index + 2);
    }
    const follower = two.follow(runId, '?after=2').then((reply) => reply.text());
    await sleep(200);
    await redis.flush();
    for (let turn = 0; turn < 4; turn += 1) {
      await gate.reached(); // never two of one session at once
      await sleep(100);
      expect(gate.waiting()).toBe(1);
      gate.open();
      if (turn > 0) expect((await waiting[turn - 1])?.body.message.status).toBe('complete');
    }
    const whole = await first.text();
    expect(whole).toMatch(/"status":"complete"[^\n]*\}\n\n$/);
    expect(await follower).toBe(whole.slice(whole.indexOf('id: 3\n') - 'event: tool_call\n'.length));
    expect(statusesOf(await one.messages(sessionId))).toEqual(Array(8).fill('complete'));
  });
});

describe.each(engines)('the database at the end of a turn, on %s', (engine) => {
  async function startHeld(env: Record<string, string> = {}) {
    const gate = createGate();
    const agent = await startTestAgent({ engine, plugins: [gate.plugin], env });
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    const store = await openStore<never>(agent.databaseUrl);
    return {
      gate,
      ana,
      sessionId,
      rename: (from: string, to: string) =>
        sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(store.db),
      async [Symbol.asyncDispose]() {
        await store.close();
        await agent[Symbol.asyncDispose]();
      },
    };
  }

  test('away for a moment: the answer is stored before done says complete', async () => {
    await using held = await startHeld();
    const { ana, gate, sessionId } = held;
    const frames = readFrames(await ana.stream(sessionId, '/tool gate'));
    await gate.reached();
    await held.rename('agent_message', 'agent_message_away');
    gate.open();
    await sleep(700);
    await held.rename('agent_message_away', 'agent_message');
    const all = await readUntil(frames, 'done');
    expect(all.at(-1)?.data.status).toBe('complete');
    expect((await ana.messages(sessionId))[1]).toMatchObject({ status: 'complete' });
    expect(await ana.liveRun(sessionId)).toBeNull();
  });
});

test('three instances that start together after a crash all start', async () => {
  await using database = await createTestDatabase('postgres');
  const key = (await createSigner()).toSecret();
  const env = { ORACLE_PRIVATE_KEY: key };
  const first = await startTestAgent({ env, databaseUrl: database.url });
  const ana = await first.createUser();
  const sessions = await Promise.all(Array.from({ length: 20 }, () => ana.createSession()));
  await Promise.all(sessions.map((sessionId) => ana.say(sessionId, 'hello')));
  await first[Symbol.asyncDispose]();
  // What a process that died in the middle of twenty turns leaves behind.
  const store = await openStore<never>(database.url);
  await sql`delete from agent_message where type = 'ai'`.execute(store.db);
  await sql`update agent_run set status = 'running', ended_at = null, instance = 'gone'`.execute(store.db);
  await sql`insert into agent_instance (id, seen_at) values ('gone', 0)`.execute(store.db);
  const starting = await Promise.allSettled(
    Array.from({ length: 3 }, () => startTestAgent({ env, databaseUrl: database.url })),
  );
  const started = starting.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  try {
    expect(starting.map(({ status }) => status)).toEqual(Array(3).fill('fulfilled'));
    await waitFor('the ends of all runs', async () => {
      const live = await sql`select 1 from agent_run where ended_at is null`.execute(store.db);
      return live.rows.length === 0;
    });
    const answers = await sql`select id from agent_message where type = 'ai'`.execute(store.db);
    expect(answers.rows).toHaveLength(20);
  } finally {
    for (const agent of started) await agent[Symbol.asyncDispose]();
    await store.close();
  }
});

/** Both requests in one packet, so that the second arrives before the first is carried out. Gives the replies. */
async function abortTwice(url: string, user: TestUser, sessionId: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const body = JSON.stringify({ sessionId });
  const toRequest = (connection: string) =>
    [
      'POST /messages/abort HTTP/1.1',
      ...Object.entries(user.headers).map(([name, value]) => `${name}: ${value}`),
      ...[`host: ${hostname}`, 'content-type: application/json', `content-length: ${body.length}`],
      ...[`connection: ${connection}`, '', body],
    ].join('\r\n');
  const socket = connect(Number(port), hostname);
  socket.write(toRequest('keep-alive') + toRequest('close'));
  return (await socket.setEncoding('utf8').toArray()).join('');
}

describe.each(engines)('abort on %s', (engine) => {
  test('asked twice, stops the running turn alone, and true is said of runs that end aborted', async () => {
    const gate = createGate();
    await using agent = await startTestAgent({ engine, plugins: [gate.plugin] });
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    const first = ana.say(sessionId, '/tool gate');
    await gate.reached();
    const second = ana.say(sessionId, '/tool gate');
    await waitFor('the second question', async () => (await ana.messages(sessionId)).length === 2);
    expect(await abortTwice(agent.url, ana, sessionId)).toContain('"aborted":true');
    expect((await first).body.message.status).toBe('aborted');
    await gate.reached();
    gate.open();
    expect((await second).body.message.status).toBe('complete');
  });

  test('true is said of no run that ends complete', async () => {
    await using agent = await startTestAgent({ engine, env: { OFFLINE_WORDS_PER_SECOND: '1000' } });
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    for (let round = 0; round < 15; round += 1) {
      const answer = ana.say(sessionId, '/long 20');
      await sleep(round * 4);
      const { aborted } = (await ana.abort(sessionId)).body;
      expect([aborted, (await answer).body.message.status]).toEqual([aborted, aborted ? 'aborted' : 'complete']);
    }
  });
});
