/** A socket of a user that looks at a session. */
export interface RegisteredSocket {
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
