import { AppError } from '@palaver/contract';
import { phoneNumberSchema } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { isNamed, toAuditBy } from '@palaver/service-kit/internal';
import { unreadableText } from '@palaver/store/internal';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Accounts } from '../people/accounts.ts';
import type { AddressChanges } from '../people/address-changes.ts';

export interface AddressParts {
  accounts: Accounts;
  addressChanges: AddressChanges;
  /** A second admin must approve. */
  fourEyes: boolean;
}

export const protocolAddressSchema = z
  .string()
  .regex(/^[a-z]{1,20}1[02-9ac-hj-np-z]{38,70}$/, 'must be a protocol address');
const changeParams = z.object({ id: z.uuid() });

/** Where an account is paid to. With `fourEyes` a change waits until another admin approves it. */
export function addAddressRoutes(server: Server, { accounts, addressChanges, fourEyes }: AddressParts): void {
  const admin = { onRequest: server.operatorGuardFor('admin') };

  server.put(
    '/api/ussd/accounts/:phoneNumber/address',
    {
      ...admin,
      schema: {
        params: z.object({ phoneNumber: phoneNumberSchema }),
        body: z.object({ address: protocolAddressSchema.nullable() }),
        response: {
          200: z.unknown().describe('Changed'),
          202: z.unknown().describe('Another admin has to approve it'),
        },
      },
      config: { audited: true },
    },
    async (request, reply) => {
      const { phoneNumber } = request.params;
      const { address } = request.body;
      if (fourEyes) {
        requireName(request);
        const pending = await addressChanges.propose(phoneNumber, address, toAuditBy(request));
        if (!pending) throw noAccount();
        return reply.status(202).send({ pending });
      }
      if (!(await accounts.setAddress(phoneNumber, address, toAuditBy(request)))) throw noAccount();
      return { phoneNumber, address };
    },
  );

  server.get('/api/ussd/address-changes', admin, async () => ({ changes: await addressChanges.list() }));

  server.post(
    '/api/ussd/address-changes/:id/approve',
    { ...admin, schema: { params: changeParams }, config: { audited: true, refuses: [409] } },
    async (request) => {
      requireName(request);
      const change = (await addressChanges.list()).find(({ id }) => id === request.params.id);
      if (!change) throw noChange();
      if (change.proposedBy === request.operator?.name)
        throw new AppError('FORBIDDEN', 'An admin other than the one who proposed it must approve this.');
      const { phoneNumber, address } = change;
      if (address === unreadableText || phoneNumber === unreadableText)
        throw new AppError('CONFLICT', 'This change cannot be read from the database. Propose it again.');
      if (!(await addressChanges.remove(change.id))) throw noChange();
      if (!(await accounts.setAddress(phoneNumber, address, toAuditBy(request)))) throw noAccount();
      return { phoneNumber, address };
    },
  );

  server.delete('/api/ussd/address-changes/:id', { ...admin, schema: { params: changeParams } }, async ({ params }) => {
    if (!(await addressChanges.remove(params.id))) throw noChange();
    return { ok: true };
  });
}

/** Someone with their own token may have the shared one too, and could approve their own change. */
function requireName({ operator }: FastifyRequest): void {
  if (!isNamed(operator))
    throw new AppError('FORBIDDEN', 'This needs a named operator (`palaver operator add`), not OPERATOR_TOKEN.');
}

function noAccount(): AppError {
  return new AppError('NOT_FOUND', 'This phone number has no account.');
}

function noChange(): AppError {
  return new AppError('NOT_FOUND', 'There is no such change, or it has expired.');
}
