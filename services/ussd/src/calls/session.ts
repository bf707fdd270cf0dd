import type { Dialogue, Opening } from '@palaver/program/internal';
import type { SessionTable } from '../store/tables.ts';

/** Increased with every change that an earlier version would misread. */
const format = 1;

// Field by field: a table of letters takes twice the time. Most sessions are `{"f":1,"s":"preMenu","l":"en"}`.
interface PackedDialogue {
  /** The format. */
  f: number;
  s: string;
  l: string;
  b?: Dialogue['stack'];
  p?: number;
  h?: string;
  g?: number;
  v?: Dialogue['values'];
  x?: Dialogue['secrets'];
  a?: string;
  r?: Dialogue['resume'];
  n?: Dialogue['afterLogin'];
  c?: Dialogue['frames'];
  q?: string;
  o?: Dialogue['form'];
  w?: true;
  k?: Dialogue['left'];
}

export function packDialogue(dialogue: Dialogue): string {
  const packed: PackedDialogue = { f: format, s: dialogue.state, l: dialogue.language };
  if (dialogue.stack.length > 0) packed.b = dialogue.stack;
  if (dialogue.page > 0) packed.p = dialogue.page;
  if (dialogue.hint !== undefined) packed.h = dialogue.hint;
  if (dialogue.hintPage !== undefined) packed.g = dialogue.hintPage;
  if (!isEmpty(dialogue.values)) packed.v = dialogue.values;
  if (!isEmpty(dialogue.secrets)) packed.x = dialogue.secrets;
  if (dialogue.account !== undefined) packed.a = dialogue.account;
  if (dialogue.resume !== undefined) packed.r = dialogue.resume;
  if (dialogue.afterLogin !== undefined) packed.n = dialogue.afterLogin;
  if (dialogue.search !== undefined) packed.q = dialogue.search;
  if (dialogue.isNewcomer) packed.w = true;
  if (dialogue.left !== undefined) packed.k = dialogue.left;
  if (dialogue.frames?.length) packed.c = dialogue.frames;
  if (dialogue.form !== undefined) packed.o = dialogue.form;
  return JSON.stringify(packed);
}

/** `undefined` for a dialogue that a newer version has kept: it is rebuilt from the accumulated text. */
export function unpackDialogue(text: string): Dialogue | undefined {
  const { f, s, l, b = [], p = 0, h, g, v = {}, x = {}, a, r, n, c, q, o, w, k } = JSON.parse(text) as PackedDialogue;
  if (f > format) return undefined;
  const dialogue: Dialogue = { state: s, stack: b, page: p, values: v, secrets: x, language: l };
  if (h !== undefined) dialogue.hint = h;
  if (g !== undefined) dialogue.hintPage = g;
  if (a !== undefined) dialogue.account = a;
  if (r !== undefined) dialogue.resume = r;
  if (n !== undefined) dialogue.afterLogin = n;
  if (c !== undefined) dialogue.frames = c;
  if (q !== undefined) dialogue.search = q;
  if (o !== undefined) dialogue.form = o;
  if (w !== undefined) dialogue.isNewcomer = w;
  if (k !== undefined) dialogue.left = k;
  return dialogue;
}

export const packOpening = (opening: Opening): string => JSON.stringify(opening);

export const unpackOpening = (text: string): Opening => JSON.parse(text);

function isEmpty(record: object): boolean {
  for (const _ in record) return false;
  return true;
}

/** A session larger than this (a long answer being paged) is read from the database instead of being kept. */
const maxCharacters = 1_500;

/** A stale session fails its version check. The older half is dropped whole, since finding the oldest is slow. */
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
