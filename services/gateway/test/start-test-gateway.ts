import { createLogger, loadConfig, type Server } from '@palaver/service-kit';
import { waitFor } from '@palaver/test-kit';
import { createGatewayApp } from '../src/app.ts';
import { type Authorize, authorizeAnyone } from '../src/auth.ts';
import { gatewayConfigSchema } from '../src/config.ts';
import type { Extensions } from '../src/extensions.ts';

export interface TestGateway {
  server: Server;
  url: string;
  get(path: string, headers?: Record<string, string>, method?: string): Promise<Response>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface TestGatewayOptions {
  authorize?: Authorize;
  ca?: string;
  ready?: boolean;
  extensions?: Extensions;
  /** Where log lines go. */
  destination?: { write(line: string): void };
}

/** A gateway that listens on a free port, with its routes loaded. */
export async function startTestGateway(
  env: Record<string, string>,
  { authorize = authorizeAnyone, ca, ready = true, destination, extensions }: TestGatewayOptions = {},
): Promise<TestGateway> {
  const config = loadConfig(gatewayConfigSchema, { LOG_LEVEL: 'silent', ...env });
  const logger = createLogger({ name: 'gateway', level: config.LOG_LEVEL, ...(destination && { destination }) });
  const server = await createGatewayApp({ config, logger, authorize, ca, ...(extensions && { extensions }) });
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(url + path, { headers, method, redirect: 'manual' });
  if (ready)
    await waitFor('the routes', async () => {
      const health = (await (await get('/health')).json()) as { routes: number };
      return health.routes > 0;
    });
  return { server, url, get, [Symbol.asyncDispose]: () => server.close() };
}
