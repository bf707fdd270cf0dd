import { createLogger, type Env, loadConfig, StartError } from '@palaver/service-kit';
import { gatewayConfigSchema, toPrefixes } from './config.ts';
import { createLiveTable } from './live-table.ts';
import { loadCertificates } from './load-certificates.ts';
import type { Route } from './route-table.ts';
import { createUpstream } from './upstream.ts';

/** The routes that a gateway with this environment would serve now, in the order in which they win. */
export async function listRoutes(env: Env): Promise<Route[]> {
  const config = loadConfig(gatewayConfigSchema, env);
  const ca = await loadCertificates(config.GATEWAY_TLS_CA_FILE);
  const upstream = createUpstream({ addresses: config.GATEWAY_UPSTREAMS, ca });
  const live = createLiveTable({
    descriptors: config.GATEWAY_DESCRIPTORS,
    upstream,
    prefixes: toPrefixes(config),
    logger: createLogger({ name: 'gateway', level: 'silent' }),
    onChange: () => undefined,
  });
  try {
    await live.reload();
    return live.current()?.table.routes ?? [];
  } catch (error) {
    const source = config.GATEWAY_DESCRIPTORS ?? config.GATEWAY_UPSTREAMS.join(', ');
    throw new StartError(`The routes cannot be read from ${source}: ${(error as Error).message}`, { cause: error });
  } finally {
    upstream.close();
  }
}
