import { boundedText, offsetPageQuerySchema } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import type { DatabaseClock } from '@palaver/store';
import { z } from 'zod';
import { showCallersTo } from '../callers/show-callers.ts';
import type { Messages } from '../sms/messages.ts';

const querySchema = offsetPageQuerySchema.extend({
  status: z.enum(['queued', 'sending', 'sent', 'failed']).optional(),
});

export interface SmsRouteParts {
  messages: Messages;
  clock: Pick<DatabaseClock, 'now'>;
}

/** The outbox of SMS messages, for operators. Texts stay out of it: they may hold a voucher or a name. */
export function addSmsRoutes(server: Server, { messages, clock }: SmsRouteParts): void {
  server.get('/api/ussd/sms', { schema: { querystring: querySchema } }, async ({ query, operator }) => {
    const { limit, offset, status } = query;
    const found = await messages.find({ status, limit, offset });
    return { messages: found.map(showCallersTo(operator)), limit, offset };
  });
  server.post(
    '/api/ussd/sms/retry',
    {
      onRequest: server.operatorGuardFor('admin'),
      schema: { body: z.strictObject({ id: boundedText(0, 100).optional(), program: boundedText(0, 60).optional() }) },
    },
    async ({ body }) => ({ queued: await messages.retry(clock.now(), body) }),
  );
}
