import { join } from 'node:path';
import { AppError } from '@palaver/contract';
import {
  CloseStack,
  type ConfigOptions,
  closeServer,
  createLogger,
  type Env,
  isMain,
  keepOpen,
  type Logger,
  listen,
  loadConfig,
  type RunningService,
  runMain,
  type Server,
} from '@palaver/service-kit';
import { prepareDataDir } from '@palaver/service-kit/internal';
import { z } from 'zod';
import { createConsoleApp, toTargets } from './app.ts';
import { addCaseRoute } from './cases.ts';
import { type ConsoleConfig, consoleConfigSchema } from './config.ts';
import { addFigureRoute } from './figures.ts';
import { alarmKinds, type HistoryStore, openHistory } from './history/history-store.ts';
import { type ServiceWatch, type WatchOptions, watchServices } from './history/watch-services.ts';
import { createWebBuild, type FinishedBuild } from './web-build/create-web-build.ts';

const hourMs = 3_600_000;

export interface RunningConsole extends RunningService {
  page: FinishedBuild;
}

/** Listens at once; a page that must be built first is served when it is ready. */
export async function startConsole(env: Env, options: ConfigOptions = {}): Promise<RunningConsole> {
  const config = loadConfig(consoleConfigSchema, env, options);
  const logger = createLogger({ name: 'console', level: config.LOG_LEVEL });
  const { DRAIN_DELAY_MS: drainDelayMs } = config;
  const otherFolder = () => join(prepareDataDir(config.DATA_DIR), 'console-page');
  await using started = new CloseStack();
  const page = started.adopt(createWebBuild({ logger, otherFolder }), (page) => page.close());
  const history = started.adopt(openConsoleHistory(config, logger), (history) => history.close());
  const watch = started.adopt(watchServices(toWatchOptions(config, logger, history)), (watch) => watch.close());
  const server = await createConsoleApp({ config, logger, page });
  addHistoryRoutes(server, history, watch);
  addCaseRoute(server, toTargets(config));
  addFigureRoute(server, { targets: toTargets(config), history, watch });
  started.defer(() => closeServer(server, drainDelayMs));
  const url = await listen(server, { host: config.HOST, port: config.PORT, portName: options.names?.PORT });
  return { name: 'console', url, page, drainDelayMs, close: keepOpen(started) };
}

/** Without a folder that can be written to, the console runs, but its history ends with it. */
function openConsoleHistory(config: ConsoleConfig, logger: Logger): HistoryStore {
  try {
    return openHistory(join(prepareDataDir(config.DATA_DIR), 'console.sqlite'));
  } catch (error) {
    logger.warn({ err: error }, 'DATA_DIR cannot be written to, so the history is kept until the console stops');
    return openHistory(':memory:');
  }
}

function toWatchOptions(config: ConsoleConfig, logger: Logger, store: HistoryStore): WatchOptions {
  const { ALARM_WEBHOOK_URL: url, ALARM_WEBHOOK_ALLOWED_HOSTS: allowedHosts } = config;
  return {
    store,
    logger,
    targets: toTargets(config),
    token: config.OPERATOR_TOKEN,
    everyMs: config.METRICS_INTERVAL_SECONDS * 1_000,
    keepDays: 30,
    thresholds: { missedLooks: 3, faultPercent: config.ALARM_FAULT_PERCENT, p95Ms: config.ALARM_P95_MS },
    webhook: url ? { url, allowedHosts } : undefined,
  };
}

if (isMain(import.meta.url)) await runMain(startConsole, process.env);

const longestHours = 24 * 365;
const periodSchema = z
  .object({
    hours: z.coerce.number().int().min(1).max(longestHours).default(24),
    /** Milliseconds since 1970, in place of `hours`. */
    since: z.coerce.number().int().min(0).optional(),
    until: z.coerce.number().int().min(0).optional(),
  })
  .transform(({ hours, until = Date.now(), since = until - hours * hourMs }) => ({ since, until }))
  .refine(({ since, until }) => since < until && until - since <= longestHours * hourMs, 'expected at most a year');
const alarmSchema = z.object({ service: z.string().max(100), kind: z.enum(alarmKinds) });

function addHistoryRoutes(server: Server, store: HistoryStore, watch: ServiceWatch): void {
  server.get(
    '/history',
    { onRequest: server.operatorGuard, schema: { querystring: periodSchema, hide: true } },
    async ({ query }, reply) => reply.header('cache-control', 'no-store').send(store.read(query)),
  );
  server.post(
    '/alarms/acknowledge',
    { onRequest: server.operatorGuard, schema: { body: alarmSchema, hide: true } },
    async ({ body, operator }) => {
      if (!watch.acknowledge(body, operator?.name ?? 'unknown'))
        throw new AppError('NOT_FOUND', 'This alarm is not raised.');
      return { ok: true };
    },
  );
}
