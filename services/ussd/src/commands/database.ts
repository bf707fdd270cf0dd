import {
  baseVariables,
  CloseStack,
  createLogger,
  type Env,
  type Logger,
  loadConfig,
  StartError,
} from '@palaver/service-kit';
import { toDatabaseUrl, toStoreOptions } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { createAuditLog, createKeyRing, keepAuditHead, toAnchorPath } from '@palaver/store/internal';
import { z } from 'zod';
import { type UssdConfig, ussdConfigSchema } from '../config.ts';
import { toPhoneDid } from '../outgoing/agent-client.ts';
import { createAccounts } from '../people/accounts.ts';
import { createPersonData, type PersonData } from '../people/person-data.ts';
import { createPinVault } from '../people/pin-vault.ts';
import { loadKeys, loadServiceSecret, rotateServiceSecret, toReferenceKey } from '../people/service-secret.ts';
import { migrateUssd } from '../store/migrations.ts';
import type { UssdAudit, UssdStore, UssdTables } from '../store/tables.ts';
import { createTextHash } from '../store/text-hash.ts';

interface OpenDatabase {
  config: UssdConfig;
  logger: Logger;
  store: UssdStore;
  secret: Uint8Array;
  audit: UssdAudit;
}

export async function withDatabase<T>(env: Env, use: (database: OpenDatabase) => Promise<T>): Promise<T> {
  const config = loadConfig(ussdConfigSchema, env);
  const logger = createLogger({ name: 'palaver', level: 'error' });
  await using opened = new CloseStack();
  const store = await openStore<UssdTables>(toDatabaseUrl(config, 'ussd'), toStoreOptions(config));
  opened.defer(() => store.close());
  await migrateUssd(store);
  const secret = await loadServiceSecret(store, loadKeys(config, logger));
  const audit = createAuditLog(store, {
    service: 'ussd',
    referenceKey: toReferenceKey(secret),
    ...keepAuditHead(toAnchorPath(config.DATA_DIR, 'ussd'), logger),
  });
  opened.defer(() => audit.close());
  return await use({ config, logger, store, secret, audit });
}

export async function migrateUssdDatabase(env: Env): Promise<void> {
  const config = loadConfig(z.object(baseVariables({ port: 0 })), env);
  const store = await openStore<UssdTables>(toDatabaseUrl(config, 'ussd'), {
    ...toStoreOptions(config),
    migrations: 'apply',
  });
  await migrateUssd(store).finally(() => store.close());
}

export function withPersonData<T>(
  env: Env,
  use: (data: PersonData, didOf: (phone: string) => Promise<string>) => Promise<T>,
): Promise<T> {
  return withDatabase(env, ({ store, audit, secret }) =>
    use(createPersonData(store, audit, createTextHash(secret)), (phone) => toPhoneDid(secret, phone)),
  );
}

/** Services may run meanwhile. */
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
    const key = keys.currentId;
    const accounts = await createAccounts(store, { vault: createPinVault(keys), audit, clock: Date }).rotate(key);
    await audit.record({ actor: 'command', action: 'keys.rotated', details: { accounts, secret, key } });
    await audit.close();
    return { accounts, secret };
  } finally {
    await store.close();
  }
}
