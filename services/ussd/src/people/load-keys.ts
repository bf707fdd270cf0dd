import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type Logger, StartError } from '@palaver/service-kit';
import { loadOrCreateSecretFile, prepareDataDir } from '@palaver/service-kit/internal';
import { createKeyRing, type KeyRing } from '@palaver/store/internal';
import type { UssdConfig } from '../config.ts';
import { parseKey } from '../parse-key.ts';

/** The key ring of PINs: from the configuration, or a development key made once in the data folder. */
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
