import {
  type ConfigOptions,
  closeServer,
  createLogger,
  type Env,
  keepOpen,
  listen,
  loadConfig,
  type RunningService,
  runMain,
} from '@palaver/service-kit';
import { createConsoleApp } from './app.ts';
import { consoleConfigSchema } from './config.ts';
import { createPage } from './page/create-page.ts';

/** Starts the console from its environment. It listens at once; a page that must be built first follows by itself. */
export async function startConsole(env: Env, options: ConfigOptions = {}): Promise<RunningService> {
  const config = loadConfig(consoleConfigSchema, env, options);
  const logger = createLogger({ name: 'console', level: config.LOG_LEVEL });
  const { DRAIN_DELAY_MS: drainDelayMs } = config;
  await using started = new AsyncDisposableStack();
  const page = started.adopt(createPage(logger), (page) => page.close());
  const server = await createConsoleApp({ config, logger, page });
  started.defer(() => closeServer(server, drainDelayMs));
  const url = await listen(server, { host: config.HOST, port: config.PORT, portName: options.names?.PORT });
  return { name: 'console', url, drainDelayMs, close: keepOpen(started) };
}

if (import.meta.main) await runMain(startConsole, process.env);
