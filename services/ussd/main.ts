import {
  type ConfigOptions,
  closeServer,
  createLogger,
  type Env,
  listen,
  loadConfig,
  type RunningService,
  runMain,
  toDatabaseUrl,
} from '@palaver/service-kit';
import { openStore } from '@palaver/store';
import { createUssdApp } from './app.ts';
import { ussdConfigSchema } from './config.ts';

/** Starts the USSD gateway from its environment. */
export async function startUssd(env: Env, options: ConfigOptions = {}): Promise<RunningService> {
  const config = loadConfig(ussdConfigSchema, env, options);
  const logger = createLogger({ name: 'ussd', level: config.LOG_LEVEL });
  const store = await openStore(toDatabaseUrl(config, 'ussd'));
  const server = await createUssdApp({ config, logger, store });
  const url = await listen(server, { host: config.HOST, port: config.PORT, portName: options.names?.PORT });
  return {
    name: 'ussd',
    url,
    async close() {
      await closeServer(server);
      await store.close();
    },
  };
}

if (import.meta.main) await runMain(startUssd, process.env);
