import { AppError } from '@palaver/contract';
import { boundedText } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { createSchedulerGuard } from '@palaver/service-kit/internal';
import { z } from 'zod';
import type { Claims } from '../money/claims.ts';
import { type ClaimTable, claimStatuses, toTime } from '../store/tables.ts';
import { showCallersTo } from './show-rows.ts';

const listQuerySchema = z.object({
  status: z.enum(claimStatuses).default('failed'),
  limit: z.coerce.number().int().min(1).max(100).default(20),
});

/** A scheduler that sends `secret` may only have claims processed. Repeating the request is harmless. */
export function addClaimRoutes(server: Server, claims: Claims, secret: string | undefined): void {
  const { operatorGuard } = server;
  const onRequest = createSchedulerGuard(operatorGuard, secret);
  const list = { querystring: listQuerySchema };
  const retry = { params: z.object({ id: boundedText(0, 200) }) };
  server.post('/api/ussd/claims/process', { onRequest }, async () => ({ claims: await claims.process() }));
  server.get('/api/ussd/claims', { onRequest: operatorGuard, schema: list }, async ({ query, operator }) => ({
    claims: (await claims.list(query)).map((claim) => toView(claim, showCallersTo(operator))),
  }));
  server.post('/api/ussd/claims/:id/retry', { onRequest: operatorGuard, schema: retry }, async ({ params }) => {
    if (!(await claims.retry(params.id))) throw new AppError('NOT_FOUND', 'There is no failed claim with this id.');
    return { ok: true };
  });
}

/** Without the number of whoever filed it. */
function toView(claim: ClaimTable, show: ReturnType<typeof showCallersTo>) {
  const { phone: phoneNumber, id, source, collection, status, reward, fault } = claim;
  const content: unknown = JSON.parse(claim.content);
  const createdAt = toTime(claim.created_at);
  const shown = show({ phoneNumber, id, source, collection, content, status, reward, fault, createdAt });
  const { phoneNumber: _, ...view } = shown;
  return view;
}
