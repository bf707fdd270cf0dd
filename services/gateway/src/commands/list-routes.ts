import { createLogger, type Env, loadConfig, StartError } from '@palaver/service-kit';
import { gatewayConfigSchema, toRouteOptions } from '../config.ts';
import { createLiveTable } from '../live-table.ts';
import { loadCertificates } from '../load-certificates.ts';
import { toOpenApi } from '../openapi/openapi.ts';
import type { Route, RouteTable } from '../route-table.ts';
import { createUpstream } from '../upstream/upstream.ts';
import { toClientSource } from './to-client-source.ts';

/** The routes that a gateway with this environment would serve now, in the order in which they win. */
export async function listRoutes(env: Env): Promise<Route[]> {
  return (await loadTable(env))?.routes ?? [];
}

/** A TypeScript client for those routes, as source text. */
export async function writeClient(env: Env): Promise<string> {
  const table = await loadTable(env);
  if (!table) throw new StartError('The node offers no routes.');
  return toClientSource(toOpenApi(table));
}

async function loadTable(env: Env): Promise<RouteTable | undefined> {
  const config = loadConfig(gatewayConfigSchema, env);
  const ca = await loadCertificates(config.GATEWAY_TLS_CA_FILE);
  const upstream = createUpstream({ addresses: config.GATEWAY_UPSTREAMS, ca });
  const live = createLiveTable({
    descriptors: config.GATEWAY_DESCRIPTORS,
    upstream,
    routes: toRouteOptions(config),
    logger: createLogger({ name: 'gateway', level: 'silent' }),
    onChange: () => undefined,
  });
  try {
    await live.reload();
    return live.current()?.table;
  } catch (error) {
    const source = config.GATEWAY_DESCRIPTORS ?? config.GATEWAY_UPSTREAMS.join(', ');
    const remedy = 'Start the node, or name another with --upstream or GATEWAY_UPSTREAMS.';
    const message = `The routes cannot be read from ${source}: ${(error as Error).message}. ${remedy}`;
    throw new StartError(message, { cause: error });
  } finally {
    upstream.close();
  }
}
