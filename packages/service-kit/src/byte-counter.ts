/** How it would be if an owner took some bytes. */
interface Holding {
  own: number;
  others: number;
  /** How many have any. */
  owners: number;
}

/** The bytes of one piece of work. */
export interface ByteShare {
  /** Counts bytes; throws where there is no room for them. */
  take(bytes: number): void;
  free(): void;
}

/** Counts the bytes that each owner has in memory: of requests, replies or files. `hasRoom` says who may have more. */
export function createByteCounter(hasRoom: (holding: Holding) => boolean, toError: () => Error) {
  const owners = new Map<string, number>();
  let total = 0;

  function add(owner: string, bytes: number): void {
    total += bytes;
    const own = (owners.get(owner) ?? 0) + bytes;
    if (own > 0) owners.set(owner, own);
    else owners.delete(owner);
  }

  return (owner: string): ByteShare => {
    let taken = 0;
    return {
      take(bytes) {
        const own = owners.get(owner);
        const count = owners.size + (own === undefined ? 1 : 0);
        if (!hasRoom({ own: (own ?? 0) + bytes, others: total - (own ?? 0), owners: count })) throw toError();
        taken += bytes;
        add(owner, bytes);
      },
      free() {
        add(owner, -taken);
        taken = 0;
      },
    };
  };
}
