import { AppError, errorBodySchema } from '@palaver/contract';
import type { Server } from '@palaver/service-kit';
import { z } from 'zod';
import { type OutboxRow, outboxStatuses } from './outbox-table.ts';
import type { TxOutbox } from './tx-outbox.ts';

const statusSchema = z.enum(outboxStatuses);
const entrySchema = z.object({
  id: z.string(),
  status: statusSchema,
  hash: z.string().nullable(),
  sequence: z.int().nullable(),
  height: z.int().nullable(),
  attempts: z.int(),
  fault: z.string().nullable(),
  createdAt: z.string(),
});
const entriesSchema = z.object({ transactions: z.array(entrySchema) });
const listQuerySchema = z.object({
  status: statusSchema.default('unclear'),
  limit: z.coerce.number().int().min(1).max(100).default(20),
});
const paramsSchema = z.object({ hash: z.string().regex(/^[0-9A-F]{64}$/, 'expected the hash of a transaction') });

/** Reading needs the role `viewer`, a search `operator`, a decision `admin`; the audit log has a line of each. */
export function addOutboxRoutes<T>(server: Server, { path, outbox }: { path: string; outbox: TxOutbox<T> }): void {
  const shared = { tags: ['Transactions'], security: [] };
  const response = { 200: entriesSchema, 401: errorBodySchema };
  const change = { params: paramsSchema, response: { ...response, 403: errorBodySchema, 404: errorBodySchema } };
  const require = (rows: OutboxRow[]) => {
    if (rows.length === 0) throw new AppError('NOT_FOUND', 'No transaction with this hash is unclear.');
    return { transactions: rows.map(toView) };
  };

  const list = { ...shared, summary: 'Transactions by status (operators)', querystring: listQuerySchema, response };
  server.get(path, { onRequest: server.operatorGuard, schema: list }, async ({ query }) => ({
    transactions: (await outbox.list(query.status, query.limit)).map(toView),
  }));

  const search = { ...shared, ...change, summary: 'Look an unclear transaction up on the chain (operators)' };
  server.post(`${path}/:hash/look-up`, { onRequest: server.operatorGuard, schema: search }, async ({ params }) =>
    require(await outbox.lookUp(params.hash)),
  );

  const admin = server.operatorGuardFor('admin');
  const settle = { ...shared, ...change, summary: 'Book an unclear transaction as included (admins)' };
  server.post(`${path}/:hash/mark-included`, { onRequest: admin, schema: settle }, async ({ params }) =>
    require(await outbox.decide(params.hash, 'included')),
  );

  const repeat = {
    ...shared,
    ...change,
    summary: 'Sign and send the messages of an unclear transaction again (admins)',
  };
  server.post(`${path}/:hash/send-again`, { onRequest: admin, schema: repeat }, async ({ params }) =>
    require(await outbox.decide(params.hash, 'send-again')),
  );
}

function toView({ id, status, hash, sequence, height, attempts, fault, created_at }: OutboxRow) {
  return { id, status, hash, sequence, height, attempts, fault, createdAt: new Date(created_at).toISOString() };
}
