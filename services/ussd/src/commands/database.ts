import { baseVariables, CloseStack, createLogger, type Env, loadConfig, StartError } from '@palaver/service-kit';
import { toDatabaseUrl, toStoreOptions } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { createAuditLog, keepAuditHead, toAnchorPath } from '@palaver/store/internal';
import { z } from 'zod';
import { ussdConfigSchema } from '../config.ts';
import { toPhoneDid } from '../outgoing/agent-client.ts';
import { createAccounts } from '../people/accounts.ts';
import { createPersonData, type PersonData } from '../people/person-data.ts';
import { createPinVault } from '../people/pin-vault.ts';
import { loadKeys, loadServiceSecret, rotateServiceSecret, toReferenceKey } from '../people/service-secret.ts';
import type { Deployment } from '../store/deployment.ts';
import { migrateUssd } from '../store/migrations.ts';
import type { UssdAudit, UssdTables } from '../store/tables.ts';
import { createTextHash } from '../store/text-hash.ts';

interface OpenDatabase extends Pick<Deployment, 'config' | 'logger' | 'store' | 'keys'> {
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
  const keys = loadKeys(config, logger);
  const secret = await loadServiceSecret(store, keys);
  const audit = createAuditLog(store, {
    service: 'ussd',
    referenceKey: toReferenceKey(secret),
    ...keepAuditHead(toAnchorPath(config.DATA_DIR, 'ussd'), logger),
  });
  opened.defer(() => audit.close());
  return await use({ config, logger, store, keys, secret, audit });
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
  const { PIN_ENCRYPTION_KEY } = loadConfig(ussdConfigSchema, env);
  if (!PIN_ENCRYPTION_KEY) throw new StartError('Set PIN_ENCRYPTION_KEY to the new key to rotate to.');
  return withDatabase(env, async ({ store, keys, audit }) => {
    const secret = await rotateServiceSecret(store, keys);
    const key = keys.currentId;
    const accounts = await createAccounts(store, { vault: createPinVault(keys), audit, clock: Date }).rotate(key);
    await audit.record({ actor: 'command', action: 'keys.rotated', details: { accounts, secret, key } });
    return { accounts, secret };
  });
}
