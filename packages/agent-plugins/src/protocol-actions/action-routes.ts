import { identityOf } from '@palaver/agent';
import { addOutboxRoutes } from '@palaver/protocol/internal';
import type { Server } from '@palaver/service-kit';
import { z } from 'zod';
import type { ActionParts } from './actions.ts';

const termsSchema = z.object({
  address: z
    .string()
    .meta({ description: 'The account that signs. Grant it the right to send on the chain, with your DID as memo.' }),
  send: z.object({ denom: z.string(), perCall: z.string(), perDay: z.string() }).optional(),
});
const detailsSchema = z.record(z.string(), z.string());
const actionsSchema = z.object({
  actions: z.array(
    z.object({
      id: z.string(),
      kind: z.enum(['claim', 'send']),
      status: z.enum(['sending', 'included', 'failed']),
      amount: z.string().nullable(),
      details: detailsSchema,
      hash: z.string().nullable(),
      fault: z.string().nullable(),
      createdAt: z.string(),
    }),
  ),
});
const shown = 100;
/** For operators. */
const transactionsPath = '/actions/transactions';

/** Who signs and within which limits, and what was done in the user's name. */
export function addActionRoutes(server: Server, { actions, outbox, address, limits }: ActionParts): void {
  addOutboxRoutes(server, { path: transactionsPath, outbox });
  const tags = ['Protocol actions'];
  const terms = {
    address,
    ...(limits && {
      send: { denom: limits.denom, perCall: String(limits.perCall), perDay: String(limits.perDay) },
    }),
  };
  const termsRoute = { tags, summary: 'Who signs in your name, and its limits', response: { 200: termsSchema } };
  server.get('/actions/terms', { schema: termsRoute }, async () => terms);
  const summary = `What was done in your name on the chain, the newest ${shown}`;
  server.get('/actions', { schema: { tags, summary, response: { 200: actionsSchema } } }, async (request) => {
    const rows = await actions.list(identityOf(request).did, shown);
    return {
      actions: rows.map(({ id, kind, status, amount, details, hash, fault, created_at }) => ({
        ...{ id, kind, status, amount, hash, fault },
        details: detailsSchema.parse(JSON.parse(details)),
        createdAt: new Date(created_at).toISOString(),
      })),
    };
  });
}
