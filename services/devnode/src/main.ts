import { isIPv6 } from 'node:net';
import {
  type ConfigOptions,
  createLogger,
  type Env,
  isMain,
  loadConfig,
  type RunningService,
  runMain,
} from '@palaver/service-kit';
import { toListenError } from '@palaver/service-kit/internal';
import { createDevnode } from './app.ts';
import { devnodeConfigSchema } from './config.ts';
import type { AgentProfile } from './world/load-world.ts';

export type { AgentProfile } from './world/load-world.ts';

export interface DevnodeStartOptions extends ConfigOptions {
  agent?: Partial<AgentProfile>;
}

export interface RunningDevnode extends RunningService {
  /** `host:port`, for the gateway's list of upstreams. */
  address: string;
}

export async function startDevnode(env: Env, options: DevnodeStartOptions = {}): Promise<RunningDevnode> {
  const config = loadConfig(devnodeConfigSchema, env, options);
  const logger = createLogger({ name: 'devnode', level: config.LOG_LEVEL });
  const node = await createDevnode({
    logger,
    seed: config.DEVNODE_SEED,
    blockMs: config.DEVNODE_BLOCK_MS,
    dataDir: config.DATA_DIR,
    ...(options.agent && { agent: options.agent }),
  });
  const { HOST: host, PORT: port } = config;
  const bound = await node.listen({ host, port }).catch((error) => {
    throw toListenError(error, { host, port, portName: options.names?.PORT ?? 'PORT' });
  });
  const address = `${isIPv6(host) ? `[${host}]` : host}:${bound}`;
  logger.warn(`development node on ${address}: seeded data, no consensus, for development only`);
  return { name: 'devnode', url: `grpc://${address}`, address, close: node.close };
}

if (isMain(import.meta.url)) await runMain(startDevnode, process.env);
