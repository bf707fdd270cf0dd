import { join } from 'node:path';
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
import { prepareDataDir } from '@palaver/service-kit/internal';
import { createConsoleApp } from './app.ts';
import { consoleConfigSchema } from './config.ts';
import { createWebBuild, type FinishedBuild } from './web-build/create-web-build.ts';

export interface RunningConsole extends RunningService {
  page: FinishedBuild;
}

/** Starts the console from its environment. It listens at once; a page that must be built first is served when it is ready. */
export async function startConsole(env: Env, options: ConfigOptions = {}): Promise<RunningConsole> {
  const config = loadConfig(consoleConfigSchema, env, options);
  const logger = createLogger({ name: 'console', level: config.LOG_LEVEL });
  const { DRAIN_DELAY_MS: drainDelayMs } = config;
  const otherFolder = () => join(prepareDataDir(config.DATA_DIR), 'console-page');
  await using started = new CloseStack();
  const page = started.adopt(createWebBuild({ logger, otherFolder }), (page) => page.close());
  const server = await createConsoleApp({ config, logger, page });
  started.defer(() => closeServer(server, drainDelayMs));
  const url = await listen(server, { host: config.HOST, port: config.PORT, portName: options.names?.PORT });
  return { name: 'console', url, page, drainDelayMs, close: keepOpen(started) };
}

if (isMain(import.meta.url)) await runMain(startConsole, process.env);
