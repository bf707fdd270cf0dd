import type { Server } from '@palaver/service-kit';
import { z } from 'zod';
import type { HistoryStore } from '../history/history-store.ts';
import type { ServiceWatch } from '../history/watch-services.ts';

const querySchema = z.object({
  hours: z.coerce
    .number()
    .int()
    .min(1)
    .max(24 * 365)
    .default(24),
});

/** What the services did in the last hours, for operators. */
export function addHistoryRoute(server: Server, store: HistoryStore, watch: Pick<ServiceWatch, 'refused'>): void {
  server.get(
    '/history',
    { onRequest: server.operatorGuard, schema: { querystring: querySchema, hide: true } },
    async (request, reply) =>
      reply
        .header('cache-control', 'no-store')
        .send({ ...store.read(request.query.hours, Date.now()), refused: watch.refused() }),
  );
}
