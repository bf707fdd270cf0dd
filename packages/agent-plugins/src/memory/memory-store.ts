import { createHash } from 'node:crypto';
import { holdSession } from '@palaver/agent';
import { type CreateMemory, type Memory, memoryLimits, type OffsetPageQuery } from '@palaver/contract/internal';
import type { DataCipher, Migration, SealedTable, Store } from '@palaver/store';
import { unreadableText } from '@palaver/store/internal';
import { type Expression, type Selectable, type SqlBool, sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';

interface MemoryTable {
  id: string;
  room_id: string;
  kind: Memory['kind'];
  text: string;
  digest: string;
  /** The words to search by, each after the mark of its room; where memories are encrypted, keyed hashes of their beginnings. */
  words: string;
  created_at: number;
}

export type MemoryDatabase = { agent_memory: MemoryTable };

export const memoryMigrations: Migration[] = [
  {
    name: '0001',
    async up(db, engine) {
      // SQLite's search refers to rows by number, and only a key column keeps its numbers through a VACUUM.
      const key =
        engine === 'postgres' ? sql`id text primary key` : sql`row_key integer primary key, id text not null unique`;
      // The words are made by us and only looked up by the engines, so neither splits nor stems them its own way.
      const search =
        engine === 'postgres'
          ? [
              sql`alter table agent_memory add column lexemes tsvector
                generated always as (array_to_tsvector(string_to_array(words, ' '))) stored`,
              // Every search would read the list of entries that wait to be put in their place.
              sql`create index agent_memory_search on agent_memory using gin (lexemes) with (fastupdate = off)`,
            ]
          : [
              sql`create virtual table agent_memory_search using fts5(
                words, content='agent_memory', content_rowid='row_key', tokenize='ascii')`,
              sql`create trigger agent_memory_added after insert on agent_memory begin
                insert into agent_memory_search(rowid, words) values (new.row_key, new.words); end`,
              sql`create trigger agent_memory_removed after delete on agent_memory begin
                insert into agent_memory_search(agent_memory_search, rowid, words) values ('delete', old.row_key, old.words);
                end`,
              // Otherwise SQLite's search keeps the words of what was removed, until it happens to merge its lists.
              sql`insert into agent_memory_search(agent_memory_search, rank) values ('secure-delete', 1)`,
            ];
      const statements = [
        sql`create table agent_memory (
          ${key}, room_id text not null, kind text not null, text text not null, digest text not null,
          words text not null, created_at bigint not null, unique (room_id, digest))`,
        sql`create index agent_memory_by_room on agent_memory (room_id, id)`,
        ...search,
      ];
      for (const statement of statements) await statement.execute(db);
    },
  },
];

export const sealedMemories: SealedTable = { table: 'agent_memory', key: ['id'], sealed: ['text'] };

/** Marks and hash keys differ from room to room, so that a search reads the index entries of its own room only. */
function createIndex(cipher: DataCipher, roomId: string) {
  const toEntry = (beginning: string) => cipher.hash(beginning, `agent_memory words ${roomId}`).slice(0, 16);
  const mark = createHash('sha256').update(roomId).digest('hex').slice(0, 12);
  const toMarked = (words: string[]) => words.map((word) => `${mark}${word}`);
  return {
    digest: (text: string) =>
      cipher.hash(createHash('sha256').update(text).digest('base64url'), `agent_memory digest ${roomId}`),
    words: (text: string) =>
      (cipher.isOn ? toBeginnings(toWords(text)).map(toEntry) : toMarked(toWords(text))).join(' '),
    terms: (terms: string[]) => (cipher.isOn ? terms.map(toBeginning).map(toEntry) : toMarked(terms)),
  };
}

/** Encrypts what was remembered before there was a key. */
export async function encryptMemories({ db, cipher, transaction }: Store<MemoryDatabase>): Promise<void> {
  for (const { id } of await db.selectFrom('agent_memory').select('id').execute()) {
    await transaction(async (trx) => {
      const own = trx.selectFrom('agent_memory').where('id', '=', id);
      const row = await own.select(['id', 'room_id', 'kind', 'text', 'created_at']).executeTakeFirst();
      if (!row) return;
      const { text } = cipher.openRow(sealedMemories, row);
      // SQLite's search follows rows that come and go, not those that change.
      await trx.deleteFrom('agent_memory').where('id', '=', id).execute();
      await trx
        .insertInto('agent_memory')
        .values(toStored(cipher, { ...row, text }))
        .execute();
    });
  }
}

function toStored(cipher: DataCipher, row: Omit<MemoryTable, 'digest' | 'words'>): MemoryTable {
  const index = createIndex(cipher, row.room_id);
  return { ...cipher.sealRow(sealedMemories, row), digest: index.digest(row.text), words: index.words(row.text) };
}

export type MemoryStore = ReturnType<typeof createMemoryStore>;

export function createMemoryStore(store: Store<MemoryDatabase>) {
  const { db, engine, cipher } = store;
  const open = <Row extends Pick<MemoryTable, 'id' | 'text'>>(row: Row) =>
    cipher.openRow(sealedMemories, row, { text: unreadableText });

  function matches(terms: string[], all: boolean): Expression<SqlBool> {
    if (engine === 'postgres') {
      const query = terms.map((term) => `'${term}':*`).join(all ? ' & ' : ' | ');
      return sql<SqlBool>`lexemes @@ cast(${query} as tsquery)`;
    }
    const query = terms.map((term) => `"${term}"*`).join(all ? ' AND ' : ' OR ');
    return sql<SqlBool>`row_key in (select rowid from agent_memory_search where agent_memory_search match ${query})`;
  }

  const ofRoom = (roomId: string) => db.selectFrom('agent_memory').where('room_id', '=', roomId);
  const toMemories = (rows: Selectable<MemoryTable>[]) => rows.map((row) => toMemory(open(row)));

  /** The best first: most of the query's words, then the newest. By the index alone: reading the texts would take long. */
  function search(roomId: string, query: string, all = false) {
    const terms = createIndex(cipher, roomId).terms(toSearchTerms(query));
    if (terms.length === 0) return undefined;
    const found = ofRoom(roomId).where(matches(terms, all));
    const places = terms.map((term) => sql<number>`case when ${matches([term], all)} then 1 else 0 end`);
    const score = sql.join(places, sql` + `);
    // Only what is on the page is sorted with its text.
    const rows = (limit: number, offset = 0) => {
      const ids = found.select('id').orderBy(score, 'desc').orderBy('id', 'desc').limit(limit).offset(offset);
      return ofRoom(roomId).selectAll().where('id', 'in', ids).orderBy(score, 'desc').orderBy('id', 'desc').execute();
    };
    return { found, rows };
  }

  async function remove(roomId: string, ids: string[]): Promise<number> {
    if (ids.length === 0) return 0;
    const removal = db.deleteFrom('agent_memory').where('room_id', '=', roomId);
    const result = await removal.where('id', 'in', ids).executeTakeFirst();
    return Number(result.numDeletedRows);
  }

  async function countOf(query: ReturnType<typeof ofRoom>): Promise<number> {
    return (await query.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()).total;
  }

  return {
    remove,
    count: (roomId: string) => countOf(ofRoom(roomId)),

    /** Undefined if the room is full. What is known already is returned unchanged. `sessionId` is that of a turn. */
    add: (roomId: string, { text, kind }: CreateMemory, sessionId?: string): Promise<Memory | undefined> =>
      store.transaction(async (trx) => {
        if (sessionId) await holdSession(trx, sessionId);
        const own = trx.selectFrom('agent_memory').where('room_id', '=', roomId);
        const known = await own
          .selectAll()
          .where('digest', '=', createIndex(cipher, roomId).digest(text))
          .executeTakeFirst();
        if (known) return toMemory({ ...known, text });
        const { total } = await own.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
        if (total >= memoryLimits.count) return undefined;
        const row = { id: uuidv7(), room_id: roomId, kind, text, created_at: Date.now() };
        await trx.insertInto('agent_memory').values(toStored(cipher, row)).execute();
        return toMemory(row);
      }),

    find: async (roomId: string, query: string, limit: number): Promise<Memory[]> =>
      toMemories((await search(roomId, query)?.rows(limit)) ?? []),

    findAll: async (roomId: string, query: string): Promise<Memory[]> =>
      toMemories((await search(roomId, query, true)?.rows(memoryLimits.count)) ?? []),

    async list(roomId: string, { query, limit, offset }: OffsetPageQuery & { query?: string | undefined }) {
      const everything = ofRoom(roomId).selectAll().orderBy('id', 'desc');
      const all = { found: ofRoom(roomId), rows: () => everything.limit(limit).offset(offset).execute() };
      const listed = query === undefined ? all : search(roomId, query);
      if (!listed) return { memories: [], total: 0, limit, offset };
      const rows = await listed.rows(limit, offset);
      return { memories: toMemories(rows), total: await countOf(listed.found), limit, offset };
    },
  };
}

function toMemory({ id, text, kind, created_at }: Omit<MemoryTable, 'digest' | 'words'>): Memory {
  return { id, text, kind, createdAt: new Date(created_at).toISOString() };
}

const maxWords = 500;
const maxQueryWords = 12;
const shortest = 3;
// PostgreSQL takes lexemes of at most 2,046 bytes.
const wordCharacters = 100;
const beginningCharacters = 16;

export function toWords(text: string): string[] {
  const plain = text
    .normalize('NFKD')
    // Accents of Latin, Greek and Cyrillic; in other scripts marks are letters.
    .replaceAll(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .toLowerCase();
  const words = (plain.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).map((word) => word.slice(0, wordCharacters).toWellFormed());
  return [...new Set(words)].slice(0, maxWords);
}

/** Beginnings of words to look for. Very short words are left out beside longer ones; an open last letter finds most plurals. */
export function toSearchTerms(query: string): string[] {
  const words = toWords(query);
  const telling = words.filter((word) => [...word].length >= shortest);
  const chosen = (telling.length > 0 ? telling : words).slice(0, maxQueryWords);
  return [...new Set(chosen.map((word) => ([...word].length > 4 ? [...word].slice(0, -1).join('') : word)))];
}

/** Every beginning of the words, for an index that can only be asked for equal entries. */
function toBeginnings(words: string[]): string[] {
  const beginnings = words.flatMap((word) => {
    const letters = [...word].slice(0, beginningCharacters);
    return letters.map((_, index) => letters.slice(0, index + 1).join(''));
  });
  return [...new Set(beginnings)];
}

const toBeginning = (term: string): string => [...term].slice(0, beginningCharacters).join('');
