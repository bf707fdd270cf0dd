import { phoneNumberSchema } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { toAuditBy } from '@palaver/service-kit/internal';
import { z } from 'zod';
import type { PersonData } from '../accounts/person-data.ts';
import type { AgentPerson } from '../assistant/agent-person.ts';

/** Everything kept of a phone number, here and at the agent, for admins. */
export function addPersonDataRoutes(
  server: Server,
  { personData, agentPerson }: { personData: PersonData; agentPerson: AgentPerson | undefined },
): void {
  const options = {
    onRequest: server.operatorGuardFor('admin'),
    config: { audited: true },
    schema: { params: z.object({ phoneNumber: phoneNumberSchema }) },
  };
  server.get('/api/ussd/users/:phoneNumber/export', options, async (request) => {
    const { phoneNumber } = request.params;
    const agent = (await agentPerson?.export(phoneNumber)) ?? null;
    return {
      ussd: await personData.export(phoneNumber, toAuditBy(request)),
      agent,
    };
  });
  server.delete('/api/ussd/users/:phoneNumber', options, async (request) => {
    const { phoneNumber } = request.params;
    // First where it can fail: the gateway's part is one transaction of its own.
    await agentPerson?.erase(phoneNumber);
    await personData.erase(phoneNumber, toAuditBy(request));
    return { ok: true as const };
  });
}
