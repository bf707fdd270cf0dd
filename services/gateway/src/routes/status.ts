import type { Server } from '@palaver/service-kit';

/** `GET /`, which says what this is. */
export function addStatusRoute(server: Server): void {
  server.get('/', async () => ({
    status: 'ok',
    message: 'Palaver query gateway running; see /docs',
    timestamp: new Date().toISOString(),
  }));
}
