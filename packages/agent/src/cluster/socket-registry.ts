import type { Redis } from 'ioredis';

/** A socket of a user that looks at a session. */
interface RegisteredSocket {
  sessionId: string;
  userDid: string;
  socketId: string;
}

/** Which sockets are connected, over all instances that share it. */
export interface SocketRegistry {
  add(socket: RegisteredSocket): Promise<void>;
  remove(socket: RegisteredSocket): Promise<void>;
  /** The preferred socket if it is connected, otherwise the one that connected last. */
  latest(of: Omit<RegisteredSocket, 'socketId'>, preferred?: string): Promise<string | undefined>;
}

/** The sockets of one process. */
export function createLocalSocketRegistry(): SocketRegistry {
  const sockets = new Map<string, string[]>();
  const keyOf = ({ sessionId, userDid }: Omit<RegisteredSocket, 'socketId'>) => `${sessionId} ${userDid}`;
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

/**
 * A sorted set per session and user, newest last. Asking Socket.IO for all sockets of a room instead would wait for
 * every instance, those that just died included. While Redis is unreachable, the sockets of this process are known.
 */
export function createRedisSocketRegistry(options: {
  redis: Redis;
  instance: string;
  isAlive(instance: string): Promise<boolean>;
}): SocketRegistry {
  const { redis, instance, isAlive } = options;
  const local = createLocalSocketRegistry();
  const keyOf = ({ sessionId, userDid }: Omit<RegisteredSocket, 'socketId'>) =>
    `palaver:agent:sockets-of:${sessionId}:${userDid}`;
  const memberOf = ({ socketId }: RegisteredSocket) => `${socketId}|${instance}`;

  async function findLatest(
    of: Omit<RegisteredSocket, 'socketId'>,
    preferred: string | undefined,
  ): Promise<string | undefined> {
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
