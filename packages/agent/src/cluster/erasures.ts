import type { Broadcast } from './broadcast.ts';

/** Where the instance that erases dies, or its word that it is done is lost. */
const heldMs = 30_000;

export type Erasures = ReturnType<typeof createErasures>;

/** Users whose data is being erased, at any instance: what they stored meanwhile would make the erasure begin again. */
export function createErasures(broadcast: Broadcast) {
  const held = new Set<string>();

  function note(did: string, isOver: boolean): void {
    if (isOver) held.delete(did);
    else {
      held.add(did);
      setTimeout(() => held.delete(did), heldMs).unref();
    }
  }
  function tell(did: string, isOver: boolean): void {
    note(did, isOver);
    broadcast.publish({ kind: 'erasing', did, isOver });
  }
  broadcast.onMessage((message) => {
    if (message.kind === 'erasing') note(message.did, message.isOver);
  });

  return {
    has: (did: string): boolean => held.has(did),
    during<T>(did: string, erase: () => Promise<T>): Promise<T> {
      tell(did, false);
      return erase().finally(() => tell(did, true));
    },
  };
}
