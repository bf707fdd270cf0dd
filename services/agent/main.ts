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
import { createAgentApp } from './app.ts';
import { agentConfigSchema } from './config.ts';

/** Starts the agent service from its environment. */
export async function startAgent(env: Env, options: ConfigOptions = {}): Promise<RunningService> {
  const config = loadConfig(agentConfigSchema, env, options);
  const logger = createLogger({ name: 'agent', level: config.LOG_LEVEL });
  const store = await openStore(toDatabaseUrl(config, 'agent'));
  const server = await createAgentApp({ config, logger, store });
  const url = await listen(server, { host: config.HOST, port: config.PORT, portName: options.names?.PORT });
  return {
    name: 'agent',
    url,
    async close() {
      await closeServer(server);
      await store.close();
    },
  };
}

if (import.meta.main) await runMain(startAgent, process.env);
