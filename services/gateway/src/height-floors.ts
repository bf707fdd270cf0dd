import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Answers never go back below what a connection has seen, up to `highest`: above it the chain may have begun again. */
export function createHeightFloors(highest: () => number | null) {
  const floors = new WeakMap<Socket, number>();
  const floorOf = (socket: Socket) => Math.min(floors.get(socket) ?? 0, highest() ?? 0);
  return {
    of: floorOf,
    /** `isLatest` is false for an answer about a height that the client chose, which may be an old one. */
    raise(socket: Socket, height: number | undefined, isLatest: boolean): void {
      if (height === undefined) return;
      floors.set(socket, Math.max(height, isLatest ? floorOf(socket) : (floors.get(socket) ?? 0)));
    },
  };
}

export type HeightFloors = ReturnType<typeof createHeightFloors>;

/** Whether an earlier reply of the connection is not sent yet (pipelining): its height is the next floor. */
export function isQueued(response: ServerResponse): boolean {
  return response.socket === null;
}

/** Waits for the earlier replies of the connection; a client that does not read them gets no more. */
export async function waitForTurn(response: ServerResponse): Promise<void> {
  if (isQueued(response)) await Promise.race([once(response, 'socket'), once(response, 'close')]);
}
