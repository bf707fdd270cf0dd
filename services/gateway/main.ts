import {
  type ConfigOptions,
  closeServer,
  createLogger,
  type Env,
  listen,
  loadConfig,
  type RunningService,
  runMain,
} from '@palaver/service-kit';
import { createGatewayApp } from './app.ts';
import { gatewayConfigSchema } from './config.ts';

/** Starts the query gateway from its environment. */
export async function startGateway(env: Env, options: ConfigOptions = {}): Promise<RunningService> {
  const config = loadConfig(gatewayConfigSchema, env, options);
  const logger = createLogger({ name: 'gateway', level: config.LOG_LEVEL });
  const server = await createGatewayApp({ config, logger });
  const url = await listen(server, { host: config.HOST, port: config.PORT, portName: options.names?.PORT });
  return {
    name: 'gateway',
    url,
    async close() {
      await closeServer(server);
    },
  };
}

if (import.meta.main) await runMain(startGateway, process.env);
