import { randomUUID } from 'node:crypto';
import { createLogger } from '@palaver/service-kit';
import { openRedis } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { createTestDatabase, waitFor } from '@palaver/test-kit';
import { sql } from 'kysely';
import { describe, expect, inject, test, vi } from 'vitest';
import { agentMigrations } from '../store/migrate.ts';
import type { AgentDatabase } from '../store/schema.ts';
import type { BroadcastMessage } from './broadcast.ts';
import { type Cluster, createCluster } from './create-cluster.ts';

interface Member extends AsyncDisposable {
  cluster: Cluster;
  /** What the others broadcast about `mark`. */
  received(mark: string): BroadcastMessage[];
}

interface Deployment extends AsyncDisposable {
  start(): Promise<Member>;
  run(statement: ReturnType<typeof sql>): Promise<unknown>;
}

const logger = createLogger({ name: 'test', level: 'silent' });
const deployments = [
  { name: 'SQLite', engine: 'sqlite', withRedis: false },
  { name: 'PostgreSQL', engine: 'postgres', withRedis: false },
  { name: 'PostgreSQL and Redis', engine: 'postgres', withRedis: true },
] as const;

/** One database, and instances on it that each have connections of their own. */
async function deploy({ engine, withRedis }: (typeof deployments)[number]): Promise<Deployment> {
  await using opened = new AsyncDisposableStack();
  const { url } = opened.use(await createTestDatabase(engine));
  const redis = inject('redis');
  const store = await openStore<AgentDatabase>(url);
  opened.defer(() => store.close());
  await store.migrate('agent', agentMigrations);
  const kept = opened.move();
  return {
    run: (statement) => statement.execute(store.db),
    async start() {
      await using parts = new AsyncDisposableStack();
      const own = await openStore<AgentDatabase>(url);
      parts.defer(() => own.close());
      const client = withRedis && 'url' in redis ? await openRedis(redis.url, logger) : undefined;
      parts.defer(() => client?.disconnect());
      const cluster = createCluster({ store: own, databaseUrl: url, redis: client, logger, heartbeatMs: 100 });
      parts.defer(() => cluster.close());
      const messages: BroadcastMessage[] = [];
      cluster.broadcast.onMessage((message) => messages.push(message));
      const open = parts.move();
      return {
        cluster,
        received: (mark) => messages.filter((message) => JSON.stringify(message).includes(mark)),
        [Symbol.asyncDispose]: () => open.disposeAsync(),
      };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Resolves when both instances receive what the other broadcasts. */
async function untilJoined(one: Member, two: Member): Promise<void> {
  const mark = randomUUID();
  await waitFor('the broadcasts', () => {
    for (const { cluster } of [one, two]) cluster.broadcast.publish({ kind: 'ended', sessionId: mark });
    return one.received(mark).length > 0 && two.received(mark).length > 0;
  });
}

describe.for(deployments)('$name', (deployment) => {
  const isJoined = deployment.engine === 'postgres';
  const it = test.extend<{ place: Deployment }>({
    place: async ({ skip }, use) => {
      const redis = inject('redis');
      if (deployment.withRedis && 'reason' in redis) skip(redis.reason);
      await using place = await deploy(deployment);
      await use(place);
    },
  });

  it('an instance has a name of its own, and reports whether its database has room for others', async ({ place }) => {
    await using one = await place.start();
    await using two = await place.start();
    expect(one.cluster.instance).not.toBe(two.cluster.instance);
    expect(one.cluster.isAlone).toBe(!isJoined);
  });

  it('lists others from their first heartbeat until they close', async ({ place }) => {
    await using one = await place.start();
    const two = await place.start();
    expect(await one.cluster.hasOthers()).toBe(false);
    await two.cluster.startHeartbeat(async () => {});
    expect(await one.cluster.hasOthers()).toBe(isJoined);
    await two[Symbol.asyncDispose]();
    expect(await one.cluster.hasOthers()).toBe(false);
  });

  it('the heartbeat does not wait for work that hangs', async ({ place }) => {
    if (!isJoined) return;
    await using one = await place.start();
    const done = Promise.withResolvers<void>();
    await one.cluster.startHeartbeat(() => done.promise);
    const seenAt = async () => {
      const found = await place.run(sql`select seen_at from agent_instance where id = ${one.cluster.instance}`);
      return Number((found as { rows: { seen_at: number }[] }).rows[0]?.seen_at);
    };
    const first = await seenAt();
    await waitFor('more heartbeats', async () => (await seenAt()) > first + 500).finally(done.resolve);
  });

  it('the heartbeat is repeated, also after a failure, and ends with close', async ({ place }) => {
    const one = await place.start();
    let beats = 0;
    await one.cluster.startHeartbeat(async () => {
      beats += 1;
      if (beats === 1) throw new Error('the first fails');
    });
    await waitFor('the second heartbeat', () => beats === 2);
    await one[Symbol.asyncDispose]();
    const atClose = beats;
    await using two = await place.start();
    let later = 0;
    await two.cluster.startHeartbeat(async () => {
      later += 1;
    });
    await waitFor('two heartbeats of another instance', () => later === 2);
    expect(beats).toBe(atClose);
  });

  it('a broadcast reaches every other instance once, and not its sender', async ({ place }) => {
    await using one = await place.start();
    await using two = await place.start();
    if (isJoined) await untilJoined(one, two);
    const mark = randomUUID();
    const messages: BroadcastMessage[] = [
      { kind: 'abort', runId: mark },
      { kind: 'drop', sessionId: mark },
      { kind: 'frames', runId: mark, first: 7, body: 'event: message\n' },
    ];
    for (const message of messages) one.cluster.broadcast.publish(message);
    const last = randomUUID();
    one.cluster.broadcast.publish({ kind: 'ended', sessionId: last });
    if (isJoined) await waitFor('the last message', () => two.received(last).length > 0);
    // PostgreSQL takes them over several connections, so in any order.
    if (isJoined) await waitFor('all messages', () => two.received(mark).length >= messages.length);
    const byKind = (a: BroadcastMessage, b: BroadcastMessage) => a.kind.localeCompare(b.kind);
    expect(two.received(mark).sort(byKind)).toEqual(isJoined ? messages : []);
    expect(one.received(mark)).toEqual([]);
  });

  it('frames that are too long to be sent are announced, so that readers look for them', async ({ place }) => {
    await using one = await place.start();
    await using two = await place.start();
    if (isJoined) await untilJoined(one, two);
    const mark = randomUUID();
    one.cluster.broadcast.publish({ kind: 'frames', runId: mark, first: 3, body: 'x'.repeat(20_000) });
    if (isJoined) await waitFor('the frames', () => two.received(mark).length > 0);
    expect(two.received(mark)).toMatchObject(isJoined ? [{ kind: 'frames', runId: mark, first: 3 }] : []);
  });

  it('after close no broadcast arrives, and publishing is harmless', async ({ place }) => {
    await using one = await place.start();
    await using two = await place.start();
    await using three = await place.start();
    if (isJoined) {
      await untilJoined(one, two);
      await untilJoined(one, three);
    }
    await two.cluster.close();
    await two.cluster.close();
    const mark = randomUUID();
    one.cluster.broadcast.publish({ kind: 'abort', runId: mark });
    two.cluster.broadcast.publish({ kind: 'drop', sessionId: randomUUID() });
    if (isJoined) await waitFor('the third instance', () => three.received(mark).length === 1);
    expect(two.received(mark)).toEqual([]);
  });

  it('the latest socket of a user in a session is found until it leaves', async ({ place }) => {
    await using one = await place.start();
    const { sockets } = one.cluster;
    const of = { sessionId: randomUUID(), userDid: 'did:key:zAna' };
    expect(await sockets.latest(of)).toBeUndefined();
    await sockets.add({ ...of, socketId: 'a' });
    await sockets.add({ ...of, userDid: 'did:key:zBen', socketId: 'other' });
    // Redis orders them by milliseconds.
    const before = Date.now();
    await waitFor('the next millisecond', () => Date.now() > before);
    await sockets.add({ ...of, socketId: 'b' });
    expect(await sockets.latest(of)).toBe('b');
    await sockets.remove({ ...of, socketId: 'b' });
    expect(await sockets.latest(of)).toBe('a');
    await sockets.remove({ ...of, socketId: 'a' });
    expect(await sockets.latest(of)).toBeUndefined();
  });

  it('a socket of another instance is found only with Redis, and only while that instance is alive', async ({
    place,
  }) => {
    await using one = await place.start();
    await using two = await place.start();
    await two.cluster.startHeartbeat(async () => {});
    const of = { sessionId: randomUUID(), userDid: 'did:key:zAna' };
    await two.cluster.sockets.add({ ...of, socketId: 'there' });
    expect(await one.cluster.sockets.latest(of)).toBe(deployment.withRedis ? 'there' : undefined);
    await two.cluster.close();
    if (!isJoined) return;
    await place.run(sql`update agent_instance set seen_at = 0 where id = ${two.cluster.instance}`);
    expect(await one.cluster.sockets.latest(of)).toBeUndefined();
  });

  it('the skew of this clock from that of the database is known', async ({ place, onTestFinished }) => {
    await using one = await place.start();
    const { now } = Date;
    vi.spyOn(Date, 'now').mockImplementation(() => now() + 60_000);
    onTestFinished(() => void vi.restoreAllMocks());
    await one.cluster.startHeartbeat(async () => {});
    expect(Math.round(one.cluster.clockSkewMs() / 10_000)).toBe(isJoined ? 6 : 0);
  });
});
