import { type Env, loadConfig, StartError } from '@palaver/service-kit';
import { toDatabaseUrl, toStoreOptions } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { createAuditLog, createKeyRing } from '@palaver/store/internal';
import { ussdConfigSchema } from '../config.ts';
import { createAccounts } from '../people/accounts.ts';
import { createPinVault } from '../people/pin-vault.ts';
import { loadServiceSecret, rotateServiceSecret, toReferenceKey } from '../people/service-secret.ts';
import { migrateUssd } from '../store/migrations.ts';
import type { UssdTables } from '../store/tables.ts';

/** Seals everything with PIN_ENCRYPTION_KEY that was sealed with a key of PIN_ENCRYPTION_KEYS_OLD. Services may run on. */
export async function rotateKeys(env: Env): Promise<{ accounts: number; secret: boolean }> {
  const config = loadConfig(ussdConfigSchema, env);
  if (!config.PIN_ENCRYPTION_KEY) throw new StartError('Set PIN_ENCRYPTION_KEY to the new key to rotate to.');
  const keys = createKeyRing(config.PIN_ENCRYPTION_KEY, config.PIN_ENCRYPTION_KEYS_OLD);
  const store = await openStore<UssdTables>(toDatabaseUrl(config, 'ussd'), toStoreOptions(config));
  try {
    await migrateUssd(store);
    const secret = await rotateServiceSecret(store, keys);
    const referenceKey = toReferenceKey(await loadServiceSecret(store, keys));
    const audit = createAuditLog(store, { service: 'ussd', referenceKey });
    const accounts = await createAccounts(store, { vault: createPinVault(keys), audit, clock: Date }).rotate(
      keys.currentId,
    );
    await audit.record({
      actor: 'command',
      action: 'keys.rotated',
      details: { accounts, secret, key: keys.currentId },
    });
    await audit.close();
    return { accounts, secret };
  } finally {
    await store.close();
  }
}
