import { AppError } from '@palaver/contract';
import { boundedText } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { createSchedulerGuard } from '@palaver/service-kit/internal';
import { z } from 'zod';
import type { Claims } from '../money/claims.ts';
import { type ClaimTable, claimStatuses } from '../store/tables.ts';
import { showCallersTo } from './show-rows.ts';

export interface ClaimRouteParts {
  claims: Claims;
  /** With it a scheduler may ask for the processing, in `X-Scheduler-Secret`. */
  secret: string | undefined;
}

const listQuerySchema = z.object({
  status: z.enum(claimStatuses).default('failed'),
  limit: z.coerce.number().int().min(1).max(100).default(20),
});

/** A scheduler may only have claims processed. Repeating the request is harmless. */
export function addClaimRoutes(server: Server, { claims, secret }: ClaimRouteParts): void {
  const onRequest = createSchedulerGuard(server.operatorGuard, secret);
  server.post('/api/ussd/claims/process', { onRequest }, async () => ({ claims: await claims.process() }));
  server.get(
    '/api/ussd/claims',
    { onRequest: server.operatorGuard, schema: { querystring: listQuerySchema } },
    async ({ query, operator }) => {
      const show = showCallersTo(operator);
      return { claims: (await claims.list(query)).map((claim) => toView(claim, show)) };
    },
  );
  server.post(
    '/api/ussd/claims/:id/retry',
    { onRequest: server.operatorGuard, schema: { params: z.object({ id: boundedText(0, 200) }) } },
    async ({ params }) => {
      if (!(await claims.retry(params.id))) throw new AppError('NOT_FOUND', 'There is no failed claim with this id.');
      return { ok: true };
    },
  );
}

/** Without the number of whoever filed it. */
function toView({ phone, content, created_at, ...claim }: ClaimTable, show: ReturnType<typeof showCallersTo>) {
  const { id, source, collection, status, reward, fault } = claim;
  const { phoneNumber: _, ...view } = show({
    phoneNumber: phone,
    id,
    source,
    collection,
    content: JSON.parse(content) as unknown,
    status,
    reward,
    fault,
    createdAt: new Date(created_at).toISOString(),
  });
  return view;
}
