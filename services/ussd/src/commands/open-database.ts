import { CloseStack, createLogger, type Env, type Logger, loadConfig } from '@palaver/service-kit';
import { toDatabaseUrl, toStoreOptions } from '@palaver/service-kit/internal';
import { type AuditLog, openStore, type Store } from '@palaver/store';
import { createAuditLog, keepAuditHead, toAnchorPath } from '@palaver/store/internal';
import { type UssdConfig, ussdConfigSchema } from '../config.ts';
import { loadKeys } from '../people/load-keys.ts';
import { loadServiceSecret, toReferenceKey } from '../people/service-secret.ts';
import { migrateUssd } from '../store/migrations.ts';
import type { UssdTables } from '../store/tables.ts';

export interface OpenDatabase {
  config: UssdConfig;
  logger: Logger;
  store: Store<UssdTables>;
  secret: Uint8Array;
  audit: AuditLog<UssdTables>;
}

/** Opens the gateway's database for a command, with the audit log that the service keeps. */
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
