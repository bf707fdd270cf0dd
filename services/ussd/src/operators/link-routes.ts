import { AppError } from '@palaver/contract';
import { clientAddress, type Server } from '@palaver/service-kit';
import { toAddressKey } from '@palaver/service-kit/internal';
import type { VerifiedToken } from '@palaver/ucan';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { People } from '../people/start-people.ts';
import { protocolAddressSchema } from './caller-routes.ts';

export function addLinkRoutes(server: Server, { links, linking }: People): void {
  const { audience, verifier, findAddress } = linking;
  server.get('/api/ussd/links', async () => ({ audience }));

  const schema = {
    body: z.object({ address: protocolAddressSchema.optional() }).nullish(),
    response: { 201: z.unknown().describe('The code') },
  };
  server.post('/api/ussd/links', { schema, config: { refuses: [401] } }, async (request, reply) => {
    const from = clientAddress(request);
    const token = readInvocation(request);
    if (token === undefined)
      throw new AppError('UCAN_MISSING', `Send an invocation with the audience ${audience} as a bearer token.`);
    const { ok, error } = await verifier.verifyInvocation(token, toAddressKey(from));
    if (!ok) throw new AppError(error.limited ? 'RATE_LIMITED' : error.code, 'Invalid UCAN invocation');
    const { did } = ok;
    const found = await findAddress(did, readAddress(ok, request.body?.address));
    if (!found.ok)
      throw new AppError('UNAVAILABLE', 'The document of this DID cannot be read at the moment. Please try again.');
    const { address } = found;
    if (address === undefined)
      throw new AppError('VALIDATION_FAILED', 'The address of this DID is not known, or is another one.');
    if (!(await links.useInvocation(ok)))
      throw new AppError('UCAN_NOT_ALLOWED', 'This invocation was used before. Make a new one for each code.');
    const { code, expiresAt } = await links.open({ did, address });
    // No audit line yet: anyone can make keys and ask, and the line would be kept for years. The phone that uses the code leaves one.
    return reply.status(201).send({ code, did, address, expiresAt: new Date(expiresAt).toISOString() });
  });
}

/** An invocation that someone else has seen must not give them a code for another address. */
function readAddress({ capabilities }: VerifiedToken, given: string | undefined): string | undefined {
  const link = capabilities.find(({ can }) => can === 'oracle/link');
  const named = protocolAddressSchema.safeParse(link?.nb?.address).data;
  const advice = 'Name the address in the invocation too: `nb: { address }` of `oracle/link`.';
  if (given !== undefined && given !== named) throw new AppError('VALIDATION_FAILED', advice);
  return named;
}

function readInvocation({ headers }: FastifyRequest): string | undefined {
  const isUcan = String(headers['x-auth-type'] ?? '').toLowerCase() === 'ucan';
  return isUcan ? /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1] : undefined;
}
