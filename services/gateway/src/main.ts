import type { ApiKey } from '@palaver/contract/internal';
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
import { type CountInMinute, countInRedis, openRedis } from '@palaver/service-kit/internal';
import { createGatewayApp } from './app.ts';
import { type Authorize, authorizeAnyone, authorizeApiKey, authorizeUcan, loadApiKeys } from './auth.ts';
import { type GatewayConfig, gatewayConfigSchema } from './config.ts';
import { loadCertificates, loadExtensions } from './extensions.ts';

export async function startGateway(env: Env, options: ConfigOptions = {}): Promise<RunningService> {
  const config = loadConfig(gatewayConfigSchema, env, options);
  const logger = createLogger({ name: 'gateway', level: config.LOG_LEVEL });
  const [keys, ca, extensions] = await Promise.all([
    config.GATEWAY_AUTH === 'api-key' ? loadApiKeys(config.GATEWAY_API_KEYS_FILE ?? '') : [],
    loadCertificates(config.GATEWAY_TLS_CA_FILE),
    loadExtensions(config.GATEWAY_EXTENSIONS),
  ]);
  const { DRAIN_DELAY_MS: drainDelayMs } = config;
  await using started = new CloseStack();
  const hasLimits = config.GATEWAY_RATE_LIMIT_PER_MINUTE > 0 || keys.some((key) => key.perMinute !== undefined);
  const redis = hasLimits && config.REDIS_URL ? await openRedis(config.REDIS_URL, logger) : undefined;
  started.defer(() => redis?.disconnect());
  const authorize = createAuthorize(config, keys, redis && countInRedis(redis, 'gateway-key'));
  const server = await createGatewayApp({ config, logger, authorize, ca, redis, extensions });
  started.defer(() => closeServer(server, drainDelayMs));
  const url = await listen(server, { host: config.HOST, port: config.PORT, portName: options.names?.PORT });
  return { name: 'gateway', url, drainDelayMs, close: keepOpen(started) };
}

function createAuthorize(config: GatewayConfig, keys: ApiKey[], count: CountInMinute | undefined): Authorize {
  if (config.GATEWAY_AUTH === 'api-key') return authorizeApiKey(keys, count);
  if (config.GATEWAY_AUTH === 'ucan') return authorizeUcan(config);
  return authorizeAnyone;
}

if (isMain(import.meta.url)) await runMain(startGateway, process.env);
