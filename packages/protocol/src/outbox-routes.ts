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
  const { operatorGuard } = server;
  const list = { ...shared, summary: 'Transactions by status (operators)', querystring: listQuerySchema, response };
  server.get(path, { onRequest: operatorGuard, schema: list }, async ({ query }) => ({
    transactions: (await outbox.list(query.status, query.limit)).map(toView),
  }));

  const change = { params: paramsSchema, response: { ...response, 403: errorBodySchema, 404: errorBodySchema } };
  const addChange = (
    name: string,
    { onRequest, summary }: { onRequest: typeof operatorGuard; summary: string },
    run: (hash: string) => Promise<OutboxRow[]>,
  ) =>
    server.post(
      `${path}/:hash/${name}`,
      { onRequest, schema: { ...shared, ...change, summary } },
      async ({ params }) => {
        const rows = await run(params.hash);
        if (rows.length === 0) throw new AppError('NOT_FOUND', 'No transaction with this hash is unclear.');
        return { transactions: rows.map(toView) };
      },
    );
  const search = 'Look an unclear transaction up on the chain (operators)';
  addChange('look-up', { onRequest: operatorGuard, summary: search }, outbox.lookUp);
  const onRequest = server.operatorGuardFor('admin');
  const settle = 'Book an unclear transaction as included (admins)';
  addChange('mark-included', { onRequest, summary: settle }, (hash) => outbox.decide(hash, 'included'));
  const repeat = 'Sign and send the messages of an unclear transaction again (admins)';
  addChange('send-again', { onRequest, summary: repeat }, (hash) => outbox.decide(hash, 'send-again'));
}

function toView({ id, status, hash, sequence, height, attempts, fault, created_at }: OutboxRow) {
  return { id, status, hash, sequence, height, attempts, fault, createdAt: new Date(created_at).toISOString() };
}
