import type { Server } from '@palaver/service-kit';
import type { UssdConfig } from '../config.ts';

/** `GET /`, for platform probes. */
export function addStatusRoute(server: Server, config: UssdConfig): void {
  server.get('/', async () => ({
    status: 'ok',
    message: 'Palaver USSD gateway running',
    environment: config.NODE_ENV,
    timestamp: new Date().toISOString(),
  }));
}
