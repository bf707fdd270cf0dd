import { createServer, type Logger, type Server } from '@palaver/service-kit';
import type { Store } from '@palaver/store';
import type { AgentConfig } from './config.ts';
import { addStatusRoute } from './routes/status.ts';

export interface AgentParts {
  config: AgentConfig;
  logger: Logger;
  store: Pick<Store<unknown>, 'ping'>;
}

/** The agent service as a server that is not listening yet. */
export async function createAgentApp({ config, logger, store }: AgentParts): Promise<Server> {
  const server = await createServer({
    name: 'agent',
    logger,
    trustProxy: config.TRUST_PROXY_ENABLED,
    operatorToken: config.OPERATOR_TOKEN,
    bodyLimit: config.BODY_LIMIT_BYTES,
    cors: { origins: config.CORS_ORIGIN, exposedHeaders: ['X-Run-Id'] },
    async health() {
      const healthy = await store.ping();
      return { healthy, body: { status: healthy ? 'ok' : 'degraded', timestamp: new Date().toISOString() } };
    },
  });
  addStatusRoute(server);
  return server;
}
