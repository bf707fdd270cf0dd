export interface MinuteCount {
  /** This time included; beyond `max` for a use that is refused, which does not count. */
  count: number;
  leftMs: number;
}

export const minuteMs = 60_000;
/** Uses within a second count as one time, the latest of them: a key has at most 61 times, and none too early. */
export const mergedMs = 1_000;

/** Each entry is a second in which a key was used: its first use, its last, and how many. */
type Entry = { from: number; at: number; count: number };

/** `total` is the sum of the counts: a busy key has 61 of them, and every request asks. */
type Window = { entries: Entry[]; total: number };

/** Two generations: the older is dropped once the newer is a minute old or full; keys in use are then in the newer. */
export function createMinuteWindows({ now = () => performance.now(), maxKeys = 100_000 } = {}) {
  let older = new Map<string, Window>();
  let newer = new Map<string, Window>();
  let rotateAt = Number.NEGATIVE_INFINITY;
  const find = (key: string, time: number): Window => {
    const window = newer.get(key) ?? older.get(key) ?? { entries: [], total: 0 };
    const { entries } = window;
    for (let first = entries[0]; first && time - first.at >= minuteMs; first = entries[0]) {
      window.total -= first.count;
      entries.shift();
    }
    return window;
  };
  return {
    /** Does not count as a use. */
    look(key: string): MinuteCount {
      const time = now();
      const { entries, total: count } = find(key, time);
      return { count, leftMs: (entries[0]?.at ?? time) + minuteMs - time };
    },
    add(key: string, count = 1): void {
      const time = now();
      if (time >= rotateAt || newer.size >= maxKeys) {
        older = newer;
        newer = new Map();
        rotateAt = time + minuteMs;
      }
      const window = find(key, time);
      const last = window.entries.at(-1);
      if (last && time - last.from < mergedMs) {
        last.at = time;
        last.count += count;
      } else window.entries.push({ from: time, at: time, count });
      window.total += count;
      newer.set(key, window);
    },
  };
}
