import { createServer, type Logger, type Server } from '@palaver/service-kit';
import type { Store } from '@palaver/store';
import type { UssdConfig } from './config.ts';
import { addStatusRoute } from './routes/status.ts';

const bodyLimit = 16 * 1024;

export interface UssdParts {
  config: UssdConfig;
  logger: Logger;
  store: Pick<Store<unknown>, 'ping'>;
}

/** The USSD gateway as a server that is not listening yet. */
export async function createUssdApp({ config, logger, store }: UssdParts): Promise<Server> {
  const startedAt = Date.now();
  const server = await createServer({
    name: 'ussd',
    logger,
    trustProxy: config.TRUST_PROXY_ENABLED,
    operatorToken: config.OPERATOR_TOKEN,
    bodyLimit,
    async health() {
      const healthy = await store.ping();
      const body = {
        status: healthy ? 'ok' : 'degraded',
        environment: config.NODE_ENV,
        timestamp: new Date().toISOString(),
        uptime: (Date.now() - startedAt) / 1000,
        database: healthy ? 'connected' : 'disconnected',
      };
      return { healthy, body };
    },
  });
  addStatusRoute(server, config);
  return server;
}
