import {
  CloseStack,
  type ConfigOptions,
  closeServer,
  createLogger,
  type Env,
  isMain,
  keepOpen,
  listen,
  loadConfig,
  type RunningService,
  runMain,
} from '@palaver/service-kit';
import { openRedis, toDatabaseUrl, toStoreOptions } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { engineOf } from '@palaver/store/internal';
import { createUssdApp, type UssdParts } from './app.ts';
import { adapterSecretPrefix, toProgramSecrets, toSecrets, ussdConfigSchema } from './config.ts';
import { loadKeys } from './people/service-secret.ts';
import { migrateUssd } from './store/migrations.ts';
import type { UssdTables } from './store/tables.ts';

// Less than the 10 s that telecom gateways wait: PostgreSQL may also have to connect, and SQLite to wait twice.
const databaseWaits = { sqlite: { waitMs: 2_500 }, postgres: { waitMs: 5_000, statementTimeoutMs: 4_000 } };

export async function startUssd(
  env: Env,
  options: ConfigOptions & Pick<UssdParts, 'servers'> = {},
): Promise<RunningService> {
  const config = loadConfig(ussdConfigSchema, env, options);
  const logger = createLogger({ name: 'ussd', level: config.LOG_LEVEL });
  const keys = loadKeys(config, logger);
  const { DRAIN_DELAY_MS: drainDelayMs } = config;
  await using started = new CloseStack();
  const redis = config.REDIS_URL === undefined ? undefined : await openRedis(config.REDIS_URL, logger);
  started.defer(() => redis?.disconnect());
  const databaseUrl = toDatabaseUrl(config, 'ussd');
  const store = await openStore<UssdTables>(databaseUrl, {
    ...databaseWaits[engineOf(databaseUrl)],
    ...toStoreOptions(config),
  });
  started.defer(() => store.close());
  await migrateUssd(store, (done) => logger.info(done, 'phone numbers are encrypted before the service listens'));
  const server = await createUssdApp({
    config,
    logger,
    store,
    keys,
    redis,
    secrets: toProgramSecrets(env),
    adapterSecrets: toSecrets(env, adapterSecretPrefix),
    servers: options.servers,
  });
  started.defer(() => closeServer(server, drainDelayMs));
  const url = await listen(server, { host: config.HOST, port: config.PORT, portName: options.names?.PORT });
  return { name: 'ussd', url, drainDelayMs, close: keepOpen(started) };
}

if (isMain(import.meta.url)) await runMain(startUssd, process.env);
