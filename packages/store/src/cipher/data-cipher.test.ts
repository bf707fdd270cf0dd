import { randomBytes } from 'node:crypto';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { openStore } from '../open-store.ts';
import { createDataCipher, type SealedTable } from './data-cipher.ts';
import { encryptTable, encryptTables, openCipher, registerSealed } from './stored-cipher.ts';

const table: SealedTable = { table: 'note', key: ['id'], sealed: ['body'], tokens: ['phone'] };
const [first, second] = [randomBytes(32), randomBytes(32)];

function createLoaded(keys: Buffer[]) {
  const cipher = createDataCipher(keys);
  cipher.load(Buffer.alloc(32, 7));
  return cipher;
}

describe('a cipher', () => {
  const row = { id: 'a', body: 'secret words', phone: '+254700000001', number: 4, nothing: null };

  test('encrypts cells so that only the same row, column and key open them', () => {
    const cipher = createLoaded([first]);
    const stored = cipher.sealRow(table, row);
    expect(JSON.stringify(stored)).not.toMatch(/secret|2547/);
    expect(stored).toMatchObject({ id: 'a', number: 4, nothing: null });
    expect(stored.body).not.toBe(cipher.sealRow(table, row).body);
    expect(cipher.openRow(table, stored)).toEqual(row);
    expect(() => cipher.openRow(table, { ...stored, id: 'b' })).toThrow();
    expect(() => cipher.openRow({ ...table, table: 'other' }, stored)).toThrow();
    expect(() => cipher.openRow({ ...table, sealed: ['x'] }, { id: 'a', x: stored.body })).toThrow();
    expect(() => createLoaded([second]).openRow(table, stored)).toThrow();
    const middle = stored.body.length - 8;
    const changed =
      stored.body.slice(0, middle) + (stored.body[middle] === 'A' ? 'B' : 'A') + stored.body.slice(middle + 1);
    expect(() => cipher.openRow(table, { ...stored, body: changed })).toThrow();
  });

  test('gives equal texts equal tokens, and others none of them', () => {
    const cipher = createLoaded([first]);
    expect(cipher.token('+1')).toBe(cipher.token('+1'));
    expect(cipher.token('+1')).not.toBe(cipher.token('+2'));
    expect(cipher.token('+1')).toBe(createLoaded([second]).token('+1'));
    expect(cipher.openToken(cipher.token('+1'))).toBe('+1');
    expect(() => cipher.openToken(`${cipher.token('+1').slice(0, -2)}AA`)).toThrow();
  });

  test('reads what was stored before there was a key, and what older keys encrypted', () => {
    const rotated = createLoaded([second, first]);
    expect(rotated.openRow(table, row)).toEqual(row);
    expect(rotated.openRow(table, createLoaded([first]).sealRow(table, row))).toEqual(row);
    expect(createLoaded([second, first]).sealRow(table, row)).not.toEqual(row);
  });

  test('without a key changes nothing, and refuses to read what is encrypted or to store what looks like it', () => {
    const off = createDataCipher();
    const stored = createLoaded([first]).sealRow(table, row);
    expect(off.sealRow(table, row)).toEqual(row);
    expect(() => off.openRow(table, stored)).toThrow('DATA_ENCRYPTION_KEY is not set');
    expect(off.openRow(table, off.sealRow(table, { ...row, body: stored.body })).body).toMatch(/^\ufffdv1/);
  });
});

describe.each(engines)('an encrypted database on %s', (engine) => {
  async function openNotes(url: string, dataKeys: Buffer[] = []) {
    const store = await openStore<{ note: { id: string; body: string | null; phone: string } }>(url, { dataKeys });
    await sql`create table if not exists note (id text primary key, body text, phone text unique)`.execute(store.db);
    await openCipher(store).catch(async (error) => {
      await store.close();
      throw error;
    });
    return store;
  }

  test('does not open without its key, nor with another; all keys of the ring read', async () => {
    await using database = await createTestDatabase(engine);
    await (await openNotes(database.url)).close();
    await (await openNotes(database.url, [first])).close();
    await expect(openNotes(database.url)).rejects.toThrow('DATA_ENCRYPTION_KEY is not set');
    await expect(openNotes(database.url, [second])).rejects.toThrow(
      'DATA_ENCRYPTION_KEY is not the key of this database',
    );
    await (await openNotes(database.url, [second, first])).close();
  });

  test('is encrypted and rotated row by row, also where others write meanwhile', async () => {
    await using database = await createTestDatabase(engine);
    const plain = await openNotes(database.url);
    const rows = Array.from({ length: 450 }, (_, index) => ({
      id: String(index),
      body: index % 7 === 0 ? null : `body ${index}`,
      phone: `+25470000${index}`,
    }));
    for (const row of rows) await plain.db.insertInto('note').values(row).execute();
    await plain.close();

    const store = await openNotes(database.url, [first]);
    const readAll = async (reader = store) => {
      const stored = await reader.db.selectFrom('note').selectAll().execute();
      return stored.map((row) => reader.cipher.openRow(table, row)).sort((a, b) => Number(a.id) - Number(b.id));
    };
    expect(await encryptTable(store, table, ['phone'])).toEqual({ changed: 450, left: 0 });
    const written = { id: '8', body: 'meanwhile' };
    const [{ changed }] = await Promise.all([
      encryptTable(store, table),
      store.db.updateTable('note').set(store.cipher.sealRow(table, written)).where('id', '=', '8').execute(),
    ]);
    expect(changed).toBeGreaterThan(380);
    const expected = rows.map((row) => (row.id === '8' ? { ...row, body: 'meanwhile' } : row));
    expect(await readAll()).toEqual(expected);
    const stored = JSON.stringify(await store.db.selectFrom('note').selectAll().execute());
    expect(stored).not.toMatch(/body \d|\+254/);
    await store.close();

    const rotating = await openNotes(database.url, [second, first]);
    await registerSealed(rotating, [table]);
    expect(await encryptTables(rotating, [])).toBe(rows.filter(({ body }) => body !== null).length);
    expect(await encryptTables(rotating, [table])).toBe(0);
    // An instance without the key wrote the same number again, and a row is damaged: both are left and named.
    await rotating.db.insertInto('note').values({ id: 'plain', body: 'again', phone: '+254700001' }).execute();
    await rotating.db.updateTable('note').set({ body: '\u0001v1.x.y.z' }).where('id', '=', '8').execute();
    await rotating.db.insertInto('note').values({ id: 'new', body: 'new', phone: '+1' }).execute();
    await expect(encryptTables(rotating, [])).rejects.toThrow(
      /^1 rows were encrypted\. .* 2 of note\. Keep the old key/,
    );
    await rotating.db.deleteFrom('note').where('id', 'in', ['plain', 'new']).execute();
    const repaired = rotating.cipher.sealRow(table, written);
    await rotating.db.updateTable('note').set(repaired).where('id', '=', '8').execute();
    await rotating.close();
    const rotated = await openNotes(database.url, [second]);
    expect(await readAll(rotated)).toEqual(expected);
    await rotated.close();
  });
});
