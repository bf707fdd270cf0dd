import { randomUUID } from 'node:crypto';
import type { Logger } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import type { Redis } from 'ioredis';
import { createInstanceStore } from '../store/instances.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { type Broadcast, createNoBroadcast, createPostgresBroadcast, createRedisBroadcast } from './broadcast.ts';
import { createLocalSocketRegistry, createRedisSocketRegistry, type SocketRegistry } from './socket-registry.ts';

export interface ClusterParts {
  store: Store<AgentDatabase>;
  databaseUrl: string;
  redis: Redis | undefined;
  logger: Logger;
  /** How often an instance says that it is alive. Default 2 s. */
  heartbeatMs?: number;
  /** Default: on SQLite. */
  isAlone?: boolean;
}

/**
 * How the instances of one deployment work together. The database holds what is true: the queue of each session, who owns a
 * run, who is alive. A broadcast only makes the others look sooner.
 */
export interface Cluster {
  /** The name of this instance, new at every start. */
  readonly instance: string;
  /** No other instance shares the database. */
  readonly isAlone: boolean;
  readonly broadcast: Broadcast;
  readonly sockets: SocketRegistry;
  /** How far this machine's clock is ahead of the database's. */
  clockSkewMs(): number;
  /** Says that this instance is alive, now and every `heartbeatMs`; as often, but apart from it, calls `onBeat`. */
  startHeartbeat(onBeat: () => Promise<void>): Promise<void>;
  hasOthers(): Promise<boolean>;
  close(): Promise<void>;
}

export function createCluster(parts: ClusterParts): Cluster {
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
    sockets: redis
      ? createRedisSocketRegistry({ redis, instance, isAlive: instances.isAlive })
      : createLocalSocketRegistry(),
    clockSkewMs: () => clockSkewMs,
    async startHeartbeat(onBeat) {
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
    async close() {
      await Promise.all(regular.map((work) => work.stop()));
      if (!isAlone) await instances.markStopped(instance).catch(() => {});
      await broadcast.close();
    },
  };
}
