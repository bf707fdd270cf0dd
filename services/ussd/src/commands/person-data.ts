import { CloseStack, createLogger, type Env, loadConfig, toDatabaseUrl, toStoreOptions } from '@palaver/service-kit';
import { createAuditLog, keepAuditHead, openStore, toAnchorPath } from '@palaver/store';
import { loadKeys } from '../accounts/load-keys.ts';
import { createPersonData, type PersonData } from '../accounts/person-data.ts';
import { loadServiceSecret, toReferenceKey } from '../accounts/service-secret.ts';
import { toPhoneDid } from '../assistant/phone-signer.ts';
import { ussdConfigSchema } from '../config.ts';
import { migrateUssd } from '../store/migrations.ts';
import type { UssdTables } from '../store/tables.ts';

/** Opens the gateway's database for `palaver user`. */
export async function withPersonData<T>(
  env: Env,
  use: (data: PersonData, didOf: (phone: string) => Promise<string>) => Promise<T>,
): Promise<T> {
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
  return await use(createPersonData(store, audit), (phone) => toPhoneDid(secret, phone));
}
