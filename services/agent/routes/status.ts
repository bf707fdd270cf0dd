import type { Server } from '@palaver/service-kit';

/** `GET /`, the landing reply. */
export function addStatusRoute(server: Server): void {
  server.get('/', async () => ({
    status: 'ok',
    message: 'Palaver agent service running; see /docs',
    timestamp: new Date().toISOString(),
  }));
}
