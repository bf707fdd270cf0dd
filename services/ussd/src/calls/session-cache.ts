import type { Session } from '../store/session-row.ts';

/** A session larger than this (a long answer being paged) is read from the database instead of being kept. */
const maxCharacters = 1_500;

/**
 * The sessions last seen, so that a request needs no read. The database stays the truth: a stale one fails its version check.
 * Two generations instead of one list: when the newer is half of what may be kept, the older is dropped as a whole. To
 * look for the oldest of a hundred thousand at every request costs more than the request.
 */
export function createSessionCache(maxSessions: number) {
  let older = new Map<string, Session>();
  let newer = new Map<string, Session>();
  const remove = (id: string) => {
    if (!newer.delete(id)) older.delete(id);
  };
  return {
    get: (id: string) => newer.get(id) ?? older.get(id),
    set(session: Session) {
      // Removed first, so that a map's order is the order in which its sessions were last seen.
      remove(session.id);
      if (session.dialogue.length + session.opening.length + session.reply.length > maxCharacters) return;
      newer.set(session.id, session);
      if (newer.size * 2 < maxSessions) return;
      older = newer;
      newer = new Map();
    },
    delete: remove,
    /** Drops what was last seen before `before`; returns how many are left. */
    sweep(before: number) {
      for (const generation of [older, newer]) {
        for (const [id, session] of generation) {
          if (session.seenAt >= before) break;
          generation.delete(id);
        }
      }
      return older.size + newer.size;
    },
  };
}

export type SessionCache = ReturnType<typeof createSessionCache>;
