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

/**
 * The sessions last seen, so that a request needs no read. The database stays the truth: a stale one fails its version check.
 * Two generations instead of one list: when the younger is half of what may be kept, the elder is dropped as a whole. To
 * look for the oldest of a hundred thousand at every request costs more than the request.
 */
export function createSessionCache(maxSessions: number): SessionCache {
  let elder = new Map<string, Session>();
  let younger = new Map<string, Session>();
  const remove = (id: string) => {
    if (!younger.delete(id)) elder.delete(id);
  };
  return {
    get: (id) => younger.get(id) ?? elder.get(id),
    set(session) {
      // Removed first, so that a map's order is the order in which its sessions were last seen.
      remove(session.id);
      if (session.dialogue.length + session.opening.length + session.reply.length > maxCharacters) return;
      younger.set(session.id, session);
      if (younger.size * 2 < maxSessions) return;
      elder = younger;
      younger = new Map();
    },
    delete: remove,
    sweep(before) {
      for (const generation of [elder, younger]) {
        for (const [id, session] of generation) {
          if (session.seenAt >= before) break;
          generation.delete(id);
        }
      }
      return elder.size + younger.size;
    },
  };
}
