// The path of a request: a file of the page is answered by web-files.ts, a call to a service by forwarding.ts.
import { createServer, type Logger, type Server } from '@palaver/service-kit';
import { toEdge } from '@palaver/service-kit/internal';
import type { ConsoleConfig } from './config.ts';
import { addServiceRoutes, type Targets } from './forwarding.ts';
import type { Page } from './web-build/create-web-build.ts';
import { addWebRoutes } from './web-files.ts';

export interface ConsoleParts {
  config: ConsoleConfig;
  logger: Logger;
  page: Page;
}

export const toTargets = (config: ConsoleConfig): Targets => ({
  'ussd-gateway': config.USSD_URL,
  agent: config.AGENT_URL,
  gateway: config.GATEWAY_URL,
});

export async function createConsoleApp({ config, logger, page }: ConsoleParts): Promise<Server> {
  const server = await createServer({
    name: 'console',
    logger,
    ...toEdge(config),
    bodyLimit: 1024, // bodies pass through unread; each service has its own limit
    isUpload: ({ method, url }) => method === 'POST' && /^\/api\/agent\/files(\?|$)/.test(url),
    async health() {
      const { status } = page.current();
      const healthy = status !== 'failed';
      const body = { status: healthy ? 'ok' : 'degraded', page: status, timestamp: new Date().toISOString() };
      return { healthy, body };
    },
  });
  addWebRoutes(server, page);
  await addServiceRoutes(server, toTargets(config), {
    headers: {
      ...(config.GATEWAY_API_KEY && { 'x-api-key': config.GATEWAY_API_KEY }),
      ...(config.GATEWAY_UCAN && { 'x-ucan-delegation': config.GATEWAY_UCAN }),
    },
    prefix: config.GATEWAY_PREFIX.replace(/\/+$/, ''),
  });
  return server;
}
