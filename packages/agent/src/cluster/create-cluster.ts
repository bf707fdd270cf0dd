import { randomUUID } from 'node:crypto';
import type { Logger } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import type { Redis } from 'ioredis';
import { createInstanceStore, type InstanceStore } from '../store/instances.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { type Broadcast, createNoBroadcast, createPostgresBroadcast, createRedisBroadcast } from './broadcast.ts';

interface ClusterParts {
  store: Store<AgentDatabase>;
  databaseUrl: string;
  redis: Redis | undefined;
  logger: Logger;
  heartbeatMs?: number;
  isAlone?: boolean;
}

export type Cluster = ReturnType<typeof createCluster>;

/** How instances work together: the database holds what is true, a broadcast only makes the others look sooner. */
export function createCluster(parts: ClusterParts) {
  const { store, databaseUrl, redis, logger, heartbeatMs = 2_000, isAlone = store.engine === 'sqlite' } = parts;
  const instance = randomUUID();
  const instances = createInstanceStore(store);
  const broadcast = createBroadcast();
  const regular: ReturnType<typeof runEvery>[] = [];
  let clockSkewMs = 0;

  function createBroadcast(): Broadcast {
    if (redis) return createRedisBroadcast(redis, instance, logger);
    return isAlone ? createNoBroadcast() : createPostgresBroadcast({ databaseUrl, store, instance, logger });
  }

  async function beat(): Promise<void> {
    if (isAlone) return;
    const before = Date.now();
    const now = await instances.beat(instance);
    clockSkewMs = Math.round((before + Date.now()) / 2 - now);
  }

  return {
    instance,
    isAlone,
    broadcast,
    sockets: redis ? createRedisSocketRegistry(redis, instance, instances) : createLocalSocketRegistry(),
    /** How far this machine's clock is ahead of the database's. */
    clockSkewMs: () => clockSkewMs,
    now: () => Date.now() - clockSkewMs,
    /** Says that this instance is alive, now and every `heartbeatMs`; as often, but apart from it, calls `onBeat`. */
    async startHeartbeat(onBeat: () => Promise<void>): Promise<void> {
      await beat();
      const every = (work: () => Promise<void>, failed: string) =>
        runEvery({ everyMs: heartbeatMs, work, onFault: (error) => logger.warn({ err: error }, failed) });
      // Apart: work that is slow must not make this instance look dead.
      regular.push(
        every(beat, 'the heartbeat of this instance failed'),
        every(onBeat, 'the runs of this instance could not be looked after'),
      );
    },
    hasOthers: async () => !isAlone && (await instances.hasOthers(instance)),
    async close(): Promise<void> {
      await Promise.all(regular.map((work) => work.stop()));
      if (!isAlone) await instances.markStopped(instance).catch(() => {});
      await broadcast.close();
    },
  };
}

type SocketOwner = { sessionId: string; userDid: string };
type RegisteredSocket = SocketOwner & { socketId: string };

export interface SocketRegistry {
  add(socket: RegisteredSocket): Promise<void>;
  remove(socket: RegisteredSocket): Promise<void>;
  /** The preferred socket if it is connected, otherwise the one that connected last. */
  latest(of: SocketOwner, preferred?: string): Promise<string | undefined>;
}

function createLocalSocketRegistry(): SocketRegistry {
  const sockets = new Map<string, string[]>();
  const keyOf = ({ sessionId, userDid }: SocketOwner) => `${sessionId} ${userDid}`;
  return {
    async add(socket) {
      sockets.set(keyOf(socket), [...(sockets.get(keyOf(socket)) ?? []), socket.socketId]);
    },
    async remove(socket) {
      const left = (sockets.get(keyOf(socket)) ?? []).filter((socketId) => socketId !== socket.socketId);
      if (left.length > 0) sockets.set(keyOf(socket), left);
      else sockets.delete(keyOf(socket));
    },
    async latest(of, preferred) {
      const connected = sockets.get(keyOf(of)) ?? [];
      return connected.find((socketId) => socketId === preferred) ?? connected.at(-1);
    },
  };
}

const keptMs = 24 * 3_600_000;

/** A sorted set per session and user, newest last: asking Socket.IO for a room's sockets waits for every instance, dead ones too. */
function createRedisSocketRegistry(redis: Redis, instance: string, { isAlive }: InstanceStore): SocketRegistry {
  const local = createLocalSocketRegistry();
  const keyOf = ({ sessionId, userDid }: SocketOwner) => `palaver:agent:sockets-of:${sessionId}:${userDid}`;
  const memberOf = ({ socketId }: RegisteredSocket) => `${socketId}|${instance}`;

  async function findLatest(of: SocketOwner, preferred: string | undefined): Promise<string | undefined> {
    const members = await redis.zrevrange(keyOf(of), 0, 20);
    const first = members.filter((member) => member.startsWith(`${preferred}|`));
    for (const member of new Set([...first, ...members])) {
      const [socketId = '', owner = ''] = member.split('|');
      if (owner === instance || (await isAlive(owner))) return socketId;
      await redis.zrem(keyOf(of), member);
    }
    return undefined;
  }

  return {
    async add(socket) {
      await local.add(socket);
      await redis.multi().zadd(keyOf(socket), Date.now(), memberOf(socket)).pexpire(keyOf(socket), keptMs).exec();
    },
    async remove(socket) {
      await local.remove(socket);
      await redis.zrem(keyOf(socket), memberOf(socket));
    },
    // A Redis that was flushed has forgotten sockets that are still connected here.
    latest: async (of, preferred) =>
      (await findLatest(of, preferred).catch(() => undefined)) ?? local.latest(of, preferred),
  };
}
