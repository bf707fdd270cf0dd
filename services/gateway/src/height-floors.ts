import type { Socket } from 'node:net';

/** The highest height that each client connection has seen: answers never go back below it. */
export interface HeightFloors {
  of(socket: Socket): number;
  raise(socket: Socket, height: number | undefined): void;
}

/** `highest` is the highest height of the last seconds; above it no floor holds, for the chain may have begun again. */
export function createHeightFloors(highest: () => number | null): HeightFloors {
  const floors = new WeakMap<Socket, number>();
  return {
    of: (socket) => Math.min(floors.get(socket) ?? 0, highest() ?? 0),
    raise(socket, height) {
      if (height !== undefined) floors.set(socket, height);
    },
  };
}
