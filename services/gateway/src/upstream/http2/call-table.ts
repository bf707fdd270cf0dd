import type { Call } from './call.ts';

/** Calls that are answered roughly in the order of their beginning never find another call in their slot. */
const slotCount = 1_024;

/**
 * The calls under way, by the ids of their streams, which only grow. Slots and not a map alone: a map that is written to all
 * the time is copied again and again, and V8 keeps what its old copies hold until the next full collection.
 */
export class CallTable {
  private readonly slots: (Call | undefined)[] = new Array(slotCount).fill(undefined);
  /** Those that lost their slot to a later one. */
  private readonly slow = new Map<number, Call>();
  size = 0;

  add(call: Call): void {
    const slot = slotOf(call.id);
    const earlier = this.slots[slot];
    if (earlier) this.slow.set(earlier.id, earlier);
    this.slots[slot] = call;
    this.size += 1;
  }

  get(id: number): Call | undefined {
    const call = this.slots[slotOf(id)];
    return call?.id === id ? call : this.slow.get(id);
  }

  delete(call: Call): void {
    const slot = slotOf(call.id);
    if (this.slots[slot] === call) this.slots[slot] = undefined;
    else if (!this.slow.delete(call.id)) return;
    this.size -= 1;
  }

  /** In the order of their beginning. */
  values(): Call[] {
    const calls = this.slots.filter((call) => call !== undefined);
    return [...calls, ...this.slow.values()].sort((a, b) => a.id - b.id);
  }

  clear(): void {
    this.slots.fill(undefined);
    this.slow.clear();
    this.size = 0;
  }
}

/** A client's streams have odd ids. */
function slotOf(id: number): number {
  return (id >>> 1) % slotCount;
}
