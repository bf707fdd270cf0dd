import type { Server } from '@palaver/service-kit';
import { readerOf } from './figures.ts';
import type { Targets } from './forwarding.ts';

/** What waits for a decision, by the service that keeps it. The page shows the lists in this order. */
const caseLists = {
  ussdTransactions: ['ussd-gateway', '/api/ussd/transactions?status=unclear&limit=100', 'transactions'],
  usageTransactions: ['agent', '/claims/transactions?status=unclear&limit=100', 'transactions'],
  actionTransactions: ['agent', '/actions/transactions?status=unclear&limit=100', 'transactions'],
  claims: ['ussd-gateway', '/api/ussd/claims?status=failed&limit=100', 'claims'],
  usageClaims: ['agent', '/claims?status=failed&limit=100', 'claims'],
  submissions: ['ussd-gateway', '/api/ussd/submissions?status=failed&limit=100', 'submissions'],
  messages: ['ussd-gateway', '/api/ussd/sms?status=failed&limit=100', 'messages'],
  tasks: ['agent', '/tasks/failed', 'tasks'],
  payments: ['agent', '/credits/payments?status=unmatched&limit=100', 'payments'],
} as const;

export type CaseListName = keyof typeof caseLists;
export type Case = Record<string, unknown>;
export type CaseReplies = Partial<Record<CaseListName, { service: keyof Targets; cases: Case[]; refused?: string }>>;

/** Without the lists that a service does not have, because the feature that fills them is off. */
export function addCaseRoute(server: Server, targets: Targets): void {
  server.get('/cases', { onRequest: server.operatorGuard, schema: { hide: true } }, async (request, reply) => {
    const ask = readerOf(request);
    const replies = await Promise.all(
      Object.entries(caseLists).map(async ([name, [service, path, field]]) => {
        const { status, body, message } = await ask(targets[service].replace(/\/$/, '') + path);
        if (status === 404) return [];
        const cases = status === 200 ? (body as Record<string, Case[]>)[field] : undefined;
        return [[name, cases ? { service, cases } : { service, cases: [], refused: message }]];
      }),
    );
    return reply.header('cache-control', 'no-store').send(Object.fromEntries(replies.flat()));
  });
}
