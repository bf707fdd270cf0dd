import { hkdfSync, randomBytes } from 'node:crypto';
import { StartError } from '@palaver/service-kit';
import type { Store } from '@palaver/store';
import { type KeyRing, keyIdOf } from '@palaver/store/internal';
import type { UssdTables } from '../store/tables.ts';

const name = 'service';

/**
 * The secret everything but PINs derives from: keyed hashes of texts, the keys of phone numbers. Made once and kept in the
 * database, sealed, so that all instances share it and rotating PIN_ENCRYPTION_KEY does not change it.
 */
export async function loadServiceSecret(store: Pick<Store<UssdTables>, 'db'>, keys: KeyRing): Promise<Buffer> {
  const { db } = store;
  const sealed = keys.seal(randomBytes(32), name);
  await db
    .insertInto('ussd_secret')
    .values({ name, sealed })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  const row = await db.selectFrom('ussd_secret').selectAll().where('name', '=', name).executeTakeFirstOrThrow();
  try {
    return keys.open(row.sealed, name);
  } catch (error) {
    const advice = 'Start with the key this database was used with, in PIN_ENCRYPTION_KEY or PIN_ENCRYPTION_KEYS_OLD.';
    throw new StartError(`PIN_ENCRYPTION_KEY is not the key of this database. ${advice}`, { cause: error });
  }
}

/** Seals the secret with the current key. */
export async function rotateServiceSecret(store: Pick<Store<UssdTables>, 'db'>, keys: KeyRing): Promise<boolean> {
  const secret = await loadServiceSecret(store, keys);
  const row = await store.db.selectFrom('ussd_secret').selectAll().where('name', '=', name).executeTakeFirstOrThrow();
  if (keyIdOf(row.sealed) === keys.currentId) return false;
  await store.db
    .updateTable('ussd_secret')
    .set({ sealed: keys.seal(secret, name) })
    .where('name', '=', name)
    .execute();
  return true;
}

/** The key of references to persons in the audit log. */
export function toReferenceKey(secret: Buffer): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', 'palaver ussd audit person', 32));
}
