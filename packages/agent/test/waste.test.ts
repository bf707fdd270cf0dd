import { testWithRedis } from '@palaver/test-kit';
import { Redis } from 'ioredis';
import pg from 'pg';
import { expect, vi } from 'vitest';
import { startOwnRedis } from './redis-server.ts';
import { startTestAgent } from './test-agent.ts';

/** Statements of the instance, not of a turn: heartbeats, its own runs, approvals whose time is over, the sweep, retention. */
const upkeep = /agent_instance|agent_lease|"instance" = \$1 and "ended_at" is null|expires_at <= /;

/** Every statement of a turn that goes to PostgreSQL. */
function countStatements() {
  const statements: string[] = [];
  const query = pg.Client.prototype.query;
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const [first] = args;
    const text = typeof first === 'string' ? first : (first as { text: string }).text;
    if (!upkeep.test(text)) statements.push(text);
    return (query as (...all: unknown[]) => never).apply(this, args);
  });
  return { statements, stop: () => spy.mockRestore() };
}

testWithRedis('a turn of 50 words takes at most 9 statements and 10 Redis commands', async ({ redisUrl: _ }) => {
  await using redis = await startOwnRedis();
  await using agent = await startTestAgent({ engine: 'postgres', env: { REDIS_URL: redis.url } });
  const ana = await agent.createUser();
  const sessionId = await ana.createSession();
  await ana.say(sessionId, 'hello');
  const admin = new Redis(redis.url);
  await admin.config('RESETSTAT');
  const counted = countStatements();
  const started = performance.now();
  try {
    expect((await ana.say(sessionId, '/long 50')).body.message.status).toBe('complete');
  } finally {
    counted.stop();
  }
  const info = await admin.info('commandstats');
  admin.disconnect();
  const commands = [...info.matchAll(/^cmdstat_([a-z|]+):calls=(\d+)/gm)]
    .map(([, name = '', calls]) => ({ name, calls: Number(calls) }))
    // The adapter of Socket.IO reads all the time, and the connection is probed once a second.
    .filter(({ name }) => !['info', 'ping', 'xread', 'config|resetstat'].includes(name));
  const sent = commands.reduce((sum, { calls }) => sum + calls, 0);
  const names = commands.map(({ name, calls }) => `${calls} ${name}`).join(', ');
  process.stderr.write(
    `a turn of 50 words takes ${counted.statements.length} statements, ${sent} commands: ${names}\n`,
  );
  // Frames are written once a second, however many words there are: a slow machine needs more of these, and of nothing else.
  const seconds = Math.floor((performance.now() - started) / 1000);
  const inserts = counted.statements.filter(
    (text) => text.startsWith('with moved as (select') && text.includes('agent_frame'),
  );
  const others = counted.statements.length - inserts.length;
  expect(inserts.length).toBeLessThanOrEqual(1 + seconds);
  expect(others + 1, counted.statements.join('\n')).toBeLessThanOrEqual(9);
  expect(sent).toBeLessThanOrEqual(10);
});
