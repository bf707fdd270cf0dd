export interface MinuteCount {
  /** This time included; beyond `max` for a use that is refused, which does not count. */
  count: number;
  /** How long until the oldest use is more than a minute ago. */
  leftMs: number;
}

export const minuteMs = 60_000;
/** Uses within a second count as one time, the latest of them: a key has at most 61 times, and none too early. */
export const mergedMs = 1_000;

/** Each entry is a second in which a key was used: its first use, its last, and how many. */
type Entry = { from: number; at: number; count: number };

/** The uses of many keys in the last 60 seconds. */
export interface MinuteWindows {
  /** The uses of a key now, without another one. */
  look(key: string): MinuteCount;
  add(key: string): void;
}

/**
 * Two generations: when the newer is a minute old, or full, the keys that are only in the older one were not used for a minute, and
 * it is dropped.
 */
export function createMinuteWindows({ now = () => performance.now(), maxKeys = 100_000 } = {}): MinuteWindows {
  let older = new Map<string, Entry[]>();
  let newer = new Map<string, Entry[]>();
  let rotateAt = Number.NEGATIVE_INFINITY;
  const find = (key: string, time: number): Entry[] => {
    const entries = newer.get(key) ?? older.get(key) ?? [];
    while (entries[0] && time - entries[0].at >= minuteMs) entries.shift();
    return entries;
  };
  return {
    look(key) {
      const time = now();
      const entries = find(key, time);
      const count = entries.reduce((sum, entry) => sum + entry.count, 0);
      return { count, leftMs: (entries[0]?.at ?? time) + minuteMs - time };
    },
    add(key) {
      const time = now();
      if (time >= rotateAt || newer.size >= maxKeys) {
        older = newer;
        newer = new Map();
        rotateAt = time + minuteMs;
      }
      const entries = find(key, time);
      const last = entries.at(-1);
      if (last && time - last.from < mergedMs) {
        last.at = time;
        last.count += 1;
      } else entries.push({ from: time, at: time, count: 1 });
      newer.set(key, entries);
    },
  };
}
