import { createServer, type Logger, type Server } from '@palaver/service-kit';
import type { GatewayConfig } from './config.ts';
import { addStatusRoute } from './routes/status.ts';

const bodyLimit = 1024; // the gateway is query-only

export interface GatewayParts {
  config: GatewayConfig;
  logger: Logger;
}

/** The query gateway as a server that is not listening yet. */
export async function createGatewayApp({ config, logger }: GatewayParts): Promise<Server> {
  const server = await createServer({
    name: 'gateway',
    logger,
    trustProxy: config.TRUST_PROXY_ENABLED,
    operatorToken: config.OPERATOR_TOKEN,
    bodyLimit,
    cors: config.CORS_ORIGIN && { origins: config.CORS_ORIGIN },
    async health() {
      return { healthy: true, body: { status: 'ok', timestamp: new Date().toISOString() } };
    },
  });
  addStatusRoute(server);
  return server;
}
