import { randomBytes } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import type { Migration } from '../migrate.ts';
import { readPieces } from '../read-pieces.ts';
import type { Store } from '../store.ts';
import { faultKind, StoreError } from '../store-error.ts';
import { keyIdOf, keyMissing, type SealedTable } from './data-cipher.ts';

interface CipherTables {
  /** The encrypted `index key`; each component whose old rows were converted; each table with encrypted columns, for commands that do not know its plugin. */
  palaver_cipher: { name: string; value: string };
}

const createTable = sql`create table palaver_cipher (name text primary key, value text not null)`;
const migrations: readonly Migration[] = [{ name: '0001', up: async (db) => void (await createTable.execute(db)) }];

const indexKeyName = 'index key';
const sealedPrefix = 'sealed ';

export interface CipherStore extends Pick<Store<unknown>, 'cipher'> {
  // biome-ignore lint/suspicious/noExplicitAny: whatever the tables of the service are.
  db: Kysely<any>;
}

/** Makes `store.cipher` usable. Rejects if the database was encrypted with a key that is not given. */
export async function openCipher(store: CipherStore & Pick<Store<unknown>, 'migrate'>): Promise<void> {
  await store.migrate('cipher', migrations);
  const db = toDb(store);
  const { ring } = store.cipher;
  if (ring) await insertOnce(db, indexKeyName, ring.seal(randomBytes(32), indexKeyName));
  await loadIndexKey(store);
}

export async function checkCipher(store: CipherStore): Promise<void> {
  const tables = await store.db.introspection.getTables();
  if (tables.some(({ name }) => name === 'palaver_cipher')) await loadIndexKey(store);
}

async function loadIndexKey(store: CipherStore): Promise<void> {
  const { ring } = store.cipher;
  const row = await find(toDb(store), indexKeyName);
  if (!row) return;
  if (!ring) throw keyMissing();
  try {
    store.cipher.load(ring.open(row.value, indexKeyName));
  } catch (error) {
    const what = 'DATA_ENCRYPTION_KEY is not the key of this database; start with the keys it was encrypted with';
    throw new StoreError('encrypted', what, error);
  }
}

/** Encrypts the columns that rows are found by, so that rows from before there was a key are found. */
export async function encryptTokens(
  store: CipherStore,
  tables: readonly SealedTable[],
  onTable?: (done: { table: string; changed: number }) => void,
): Promise<void> {
  for (const table of await presentOf(store, tables)) {
    const { changed } = await encryptTable(store, table, table.tokens ?? []);
    onTable?.({ table: table.table, changed });
  }
}

export async function registerSealed(store: CipherStore, tables: readonly SealedTable[]): Promise<void> {
  if (!store.cipher.isOn) return;
  for (const table of tables) {
    const [name, value] = [sealedPrefix + table.table, JSON.stringify(table)];
    await toDb(store)
      .insertInto('palaver_cipher')
      .values({ name, value })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
      .execute();
  }
}

async function withRegistered(store: CipherStore, tables: readonly SealedTable[]): Promise<SealedTable[]> {
  const rows = await toDb(store)
    .selectFrom('palaver_cipher')
    .selectAll()
    .where('name', 'like', `${sealedPrefix}%`)
    .execute();
  const registered = rows.map(({ value }) => JSON.parse(value) as SealedTable);
  const given = new Set(tables.map(({ table }) => table));
  return [...tables, ...registered.filter(({ table }) => !given.has(table))];
}

// Includes registered tables and the index key. Rejects at the end if some rows still need their old key.
export async function encryptTables(store: CipherStore, tables: readonly SealedTable[]): Promise<number> {
  if (!store.cipher.isOn)
    throw new StoreError('encrypted', 'DATA_ENCRYPTION_KEY is not set; make a key with: openssl rand -hex 32');
  let changed = 0;
  const left: string[] = [];
  for (const table of await presentOf(store, await withRegistered(store, tables))) {
    const result = await encryptTable(store, table);
    changed += result.changed;
    if (result.left > 0) left.push(`${result.left} of ${table.table}`);
  }
  await rotateIndexKey(store);
  if (left.length > 0)
    throw new StoreError(
      'encrypted',
      `${changed} rows were encrypted. Not changed, because they cannot be read or because an encrypted row has the same key: ${left.join(', ')}. Keep the old key until they are removed`,
    );
  return changed;
}

async function presentOf(store: CipherStore, tables: readonly SealedTable[]): Promise<SealedTable[]> {
  const names = new Set((await store.db.introspection.getTables()).map(({ name }) => name));
  return tables.filter(({ table }) => names.has(table));
}

async function rotateIndexKey(store: CipherStore): Promise<void> {
  const { ring } = store.cipher;
  const db = toDb(store);
  const row = await find(db, indexKeyName);
  if (!ring || !row || keyIdOf(row.value) === ring.currentId) return;
  const value = ring.seal(ring.open(row.value, indexKeyName), indexKeyName);
  await db.updateTable('palaver_cipher').set({ value }).where('name', '=', indexKeyName).execute();
}

/** `convert` is for rows from before there was a key; it runs until it has succeeded once. */
export async function convertOnce(store: CipherStore, component: string, convert: () => Promise<unknown>) {
  if (!store.cipher.isOn) return;
  const db = toDb(store);
  const name = `converted ${component}`;
  if (await find(db, name)) return;
  await convert();
  await insertOnce(db, name, '');
}

// Writes each row only as it was read. `left`: rows that are damaged, or that another instance has already encrypted.
export async function encryptTable(
  store: CipherStore,
  table: SealedTable,
  columns: readonly string[] = [...table.sealed, ...(table.tokens ?? [])],
): Promise<{ changed: number; left: number }> {
  const { cipher } = store;
  const db = toDb(store);
  const wanted = [...new Set([...table.key, ...columns])];
  const name = sql.table(table.table);
  const key = sql.join(table.key.map((column) => sql.ref(column)));
  const count = { changed: 0, left: 0 };
  type Row = Record<string, string | null>;
  const load = async (after: Row | undefined, limit: number) => {
    const since = after ? sql`where (${key}) > (${sql.join(table.key.map((column) => after[column]))})` : sql``;
    const { rows } = await sql<Row>`
      select ${sql.join(wanted.map((column) => sql.ref(column)))} from ${name} ${since}
      order by ${key} limit ${sql.lit(limit)}`.execute(db);
    return rows;
  };
  for await (const rows of readPieces(load)) {
    for (const row of rows) {
      const due = columns.filter((column) => !cipher.isCurrent(row[column] as string | null));
      if (due.length === 0) continue;
      const equals = (column: string) => sql`${sql.ref(column)} = ${row[column]}`;
      const where = sql.join([...new Set([...table.key, ...due])].map(equals), sql` and `);
      try {
        const next = cipher.sealRow(table, cipher.openRow(table, row));
        const set = sql.join(due.map((column) => sql`${sql.ref(column)} = ${next[column]}`));
        const result = await sql`update ${name} set ${set} where ${where}`.execute(db);
        count.changed += Number(result.numAffectedRows ?? 0n);
      } catch (error) {
        // The database itself is at fault, not this row.
        if (faultKind(error) !== undefined) throw error;
        count.left += 1;
      }
    }
  }
  return count;
}

const toDb = (store: CipherStore): Kysely<CipherTables> => store.db;

const find = (db: Kysely<CipherTables>, name: string) =>
  db.selectFrom('palaver_cipher').selectAll().where('name', '=', name).executeTakeFirst();

const insertOnce = (db: Kysely<CipherTables>, name: string, value: string) =>
  db
    .insertInto('palaver_cipher')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
