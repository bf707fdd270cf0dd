import { baseVariables, type Env, loadConfig } from '@palaver/service-kit';
import { toDatabaseUrl, toStoreOptions } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { z } from 'zod';
import { migrateUssd } from '../store/migrations.ts';
import type { UssdTables } from '../store/tables.ts';

/** Brings the USSD gateway's database up to date without starting it. */
export async function migrateUssdDatabase(env: Env): Promise<void> {
  const config = loadConfig(z.object(baseVariables({ port: 0 })), env);
  const store = await openStore<UssdTables>(toDatabaseUrl(config, 'ussd'), {
    ...toStoreOptions(config),
    migrations: 'apply',
  });
  await migrateUssd(store).finally(() => store.close());
}
