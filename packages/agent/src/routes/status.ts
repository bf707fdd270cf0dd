import { agentLandingSchema } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';

/** `GET /`, the landing reply. */
export function addStatusRoute(server: Server): void {
  const schema = { tags: ['Service'], summary: 'Landing', response: { 200: agentLandingSchema } };
  server.get('/', { schema }, async () => ({
    status: 'ok' as const,
    message: 'Palaver agent service running; see /docs',
    timestamp: new Date().toISOString(),
  }));
}
