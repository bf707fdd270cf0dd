import type { Socket } from 'node:net';

/** The highest height that each client connection has seen: answers never go back below it. */
export interface HeightFloors {
  of(socket: Socket): number;
  /** `isLatest` is false for an answer about a height that the client chose, which may be an old one. */
  raise(socket: Socket, height: number | undefined, isLatest: boolean): void;
}

/** `highest` is the highest height of the last seconds; above it no floor holds, for the chain may have begun again. */
export function createHeightFloors(highest: () => number | null): HeightFloors {
  const floors = new WeakMap<Socket, number>();
  return {
    of: (socket) => Math.min(floors.get(socket) ?? 0, highest() ?? 0),
    raise(socket, height, isLatest) {
      if (height === undefined) return;
      floors.set(socket, isLatest ? height : Math.max(height, floors.get(socket) ?? 0));
    },
  };
}
