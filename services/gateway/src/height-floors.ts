import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Answers never go back below what a connection has seen, up to `highest`: above it the chain may have begun again. */
export function createHeightFloors(highest: () => number | null) {
  const floors = new WeakMap<Socket, number>();
  /** When the last reply that is expected on a connection is sent. */
  const pending = new WeakMap<Socket, Promise<void>>();
  /** When the reply before one is sent. */
  const earlier = new WeakMap<ServerResponse, Promise<void>>();
  const floorOf = (socket: Socket) => Math.min(floors.get(socket) ?? 0, highest() ?? 0);
  return {
    of: floorOf,
    /** Whether the reply to an earlier request of the connection is not sent yet: its height is the next floor. */
    isPending: (socket: Socket) => pending.has(socket),
    expect(response: ServerResponse): void {
      const { socket } = response.req;
      const before = pending.get(socket);
      if (before) earlier.set(response, before);
      const sent = new Promise<void>((resolve) => {
        response.once('close', () => {
          if (pending.get(socket) === sent) pending.delete(socket);
          resolve();
        });
      });
      pending.set(socket, sent);
    },
    /** Answers after the earlier replies of the connection (pipelining); a client that does not read gets no more. */
    inOrder: <T>(response: ServerResponse, answer: () => T | Promise<T>): T | Promise<T> =>
      earlier.get(response)?.then(answer) ?? answer(),
    /** `isLatest` is false for an answer about a height that the client chose, which may be an old one. */
    raise(socket: Socket, height: number | undefined, isLatest: boolean): void {
      if (height === undefined) return;
      floors.set(socket, Math.max(height, isLatest ? floorOf(socket) : (floors.get(socket) ?? 0)));
    },
  };
}

export type HeightFloors = ReturnType<typeof createHeightFloors>;
