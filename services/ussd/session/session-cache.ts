import type { Session } from './session.ts';

export interface SessionCache {
  get(id: string): Session | undefined;
  set(session: Session): void;
  delete(id: string): void;
  /** Drops what was last seen before `before`; returns how many are left. */
  sweep(before: number): number;
}

/** A session larger than this (a long answer being paged) is read from the database instead of being kept. */
const maxCharacters = 1_500;

/** The sessions last seen, so that a turn needs no read. The database stays the truth: a stale one fails its version check. */
export function createSessionCache(maxSessions: number): SessionCache {
  const sessions = new Map<string, Session>();
  return {
    get: (id) => sessions.get(id),
    set(session) {
      // Deleted first, so that the map's order is the order in which sessions were last seen.
      sessions.delete(session.id);
      if (session.dialogue.length + session.opening.length + session.reply.length > maxCharacters) return;
      sessions.set(session.id, session);
      if (sessions.size <= maxSessions) return;
      const [oldest] = sessions.keys();
      if (oldest !== undefined) sessions.delete(oldest);
    },
    delete: (id) => sessions.delete(id),
    sweep(before) {
      for (const [id, session] of sessions) {
        if (session.seenAt >= before) break;
        sessions.delete(id);
      }
      return sessions.size;
    },
  };
}
