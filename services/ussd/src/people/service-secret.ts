import { hkdfSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type Logger, StartError } from '@palaver/service-kit';
import { loadOrCreateSecretFile, prepareDataDir } from '@palaver/service-kit/internal';
import { createKeyRing, type KeyRing, keyIdOf } from '@palaver/store/internal';
import { parseKey, type UssdConfig } from '../config.ts';
import { insertOnce, type UssdStore } from '../store/tables.ts';

const name = 'service';

/** Everything but PINs derives from it. Stored sealed, so that rotating PIN_ENCRYPTION_KEY does not change it. */
export async function loadServiceSecret(store: UssdStore, keys: KeyRing): Promise<Buffer> {
  const { db } = store;
  await insertOnce(db, 'ussd_secret', { name, sealed: keys.seal(randomBytes(32), name) });
  const row = await db.selectFrom('ussd_secret').selectAll().where('name', '=', name).executeTakeFirstOrThrow();
  try {
    return keys.open(row.sealed, name);
  } catch (error) {
    const advice = 'Start with the key this database was used with, in PIN_ENCRYPTION_KEY or PIN_ENCRYPTION_KEYS_OLD.';
    throw new StartError(`PIN_ENCRYPTION_KEY is not the key of this database. ${advice}`, { cause: error });
  }
}

export async function rotateServiceSecret(store: UssdStore, keys: KeyRing): Promise<boolean> {
  const secret = await loadServiceSecret(store, keys);
  const row = await store.db.selectFrom('ussd_secret').selectAll().where('name', '=', name).executeTakeFirstOrThrow();
  if (keyIdOf(row.sealed) === keys.currentId) return false;
  const sealed = keys.seal(secret, name);
  await store.db.updateTable('ussd_secret').set({ sealed }).where('name', '=', name).execute();
  return true;
}

export function toReferenceKey(secret: Buffer): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', 'palaver ussd audit person', 32));
}

/** From the configuration, or a development key made once in the data folder. */
export function loadKeys(config: UssdConfig, logger: Pick<Logger, 'warn'>): KeyRing {
  const old = config.PIN_ENCRYPTION_KEYS_OLD;
  if (config.PIN_ENCRYPTION_KEY) return createKeyRing(config.PIN_ENCRYPTION_KEY, old);
  const path = join(prepareDataDir(config.DATA_DIR), 'pin-encryption.key');
  const { secret, created } = loadOrCreateSecretFile(path, () => randomBytes(32).toString('hex'));
  const key = parseKey(secret);
  if (!key) throw new StartError(`${path} does not hold a key; remove it or set PIN_ENCRYPTION_KEY`);
  logger.warn({ path, created }, 'PIN_ENCRYPTION_KEY is not set: a development key is used');
  return createKeyRing(key, old);
}
