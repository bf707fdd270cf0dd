import type { Dialogue, Opening } from '@palaver/program/internal';
import type { SessionTable } from '../store/tables.ts';

/** Increased with every change that an earlier version would misread. */
const format = 1;

/** One letter for each field and none for empty ones: most sessions are `{"f":1,"s":"preMenu","l":"en"}`. */
const letters: Record<keyof Omit<Dialogue, 'caller'>, string> = {
  ...{ state: 's', language: 'l', stack: 'b', page: 'p', hint: 'h', hintPage: 'g', values: 'v', secrets: 'x' },
  ...{ account: 'a', resume: 'r', afterLogin: 'n', frames: 'c', search: 'q', form: 'o', isNewcomer: 'w', left: 'k' },
};
const fields = Object.entries(letters) as [keyof typeof letters, string][];

export function packDialogue(dialogue: Dialogue): string {
  const packed: Record<string, unknown> = { f: format };
  for (const [name, letter] of fields) if (!isEmpty(dialogue[name])) packed[letter] = dialogue[name];
  return JSON.stringify(packed);
}

/** `undefined` for a dialogue that a newer version has kept: it is rebuilt from the accumulated text. */
export function unpackDialogue(text: string): Dialogue | undefined {
  const packed = JSON.parse(text) as Record<string, unknown> & { f: number };
  if (packed.f > format) return undefined;
  const dialogue: object = { stack: [], page: 0, values: {}, secrets: {} };
  for (const [name, letter] of fields)
    if (packed[letter] !== undefined) Object.assign(dialogue, { [name]: packed[letter] });
  return dialogue as Dialogue;
}

export function withProgram(opening: Opening, program: string): Opening {
  return opening.program === program ? opening : { ...opening, program };
}

export function packOpening(opening: Opening): string {
  return JSON.stringify(opening);
}

export function unpackOpening(text: string): Opening {
  return JSON.parse(text) as Opening;
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object') return value === undefined || value === 0 || value === false;
  for (const _ in value) return false;
  return true;
}

/** A session larger than this (a long answer being paged) is read from the database instead of being kept. */
const maxCharacters = 1_500;

/**
 * The sessions last seen, so that a request needs no read. The database stays the truth: a stale one fails its version check.
 * Two generations instead of one list: when the newer is half of what may be kept, the older is dropped as a whole. To
 * look for the oldest of a hundred thousand at every request costs more than the request.
 */
export function createSessionCache(maxSessions: number) {
  let older = new Map<string, SessionTable>();
  let newer = new Map<string, SessionTable>();
  const remove = (id: string) => {
    if (!newer.delete(id)) older.delete(id);
  };
  return {
    get: (id: string) => newer.get(id) ?? older.get(id),
    set(session: SessionTable) {
      // Removed first, so that a map's order is the order in which its sessions were last seen.
      remove(session.id);
      if (session.dialogue.length + session.opening.length + session.reply.length > maxCharacters) return;
      newer.set(session.id, session);
      if (newer.size * 2 < maxSessions) return;
      older = newer;
      newer = new Map();
    },
    delete: remove,
    sweep(before: number) {
      for (const generation of [older, newer]) {
        for (const [id, session] of generation) {
          if (session.seen_at >= before) break;
          generation.delete(id);
        }
      }
      return older.size + newer.size;
    },
  };
}

export type SessionCache = ReturnType<typeof createSessionCache>;
