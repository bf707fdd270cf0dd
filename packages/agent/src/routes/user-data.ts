import type { Readable } from 'node:stream';
import { AppError, didPattern } from '@palaver/contract';
import { clientAddress, type Server } from '@palaver/service-kit';
import { describeRoutes, toAuditBy } from '@palaver/service-kit/internal';
import type { AuditLog } from '@palaver/store';
import { hasCapability, oracleResource } from '@palaver/ucan/internal';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { identityOf } from '../auth/auth-hook.ts';
import type { ClientKey, Identity } from '../auth/authorize.ts';
import type { AgentDatabase } from '../store/schema.ts';
import type { UserData } from '../user-data.ts';

const exportSchema = z
  .object({ did: z.string(), exportedAt: z.string(), data: z.record(z.string(), z.array(z.unknown())) })
  .meta({ id: 'UserExport', description: 'Everything kept of a user, by table.' });
const sendJson = (reply: FastifyReply, body: Readable) => reply.type('application/json; charset=utf-8').send(body);

export interface UserDataRouteParts {
  userData: UserData;
  audit: Pick<AuditLog<AgentDatabase>, 'person'>;
  clientKey: ClientKey;
  /** The agent's own. */
  dids: readonly string[];
}

export function addUserDataRoutes(server: Server, { userData, audit, clientKey, dids }: UserDataRouteParts): void {
  const route = describeRoutes('Your data');
  const exported = route('Everything kept of you', { response: { 200: exportSchema } });
  server.get('/me/export', { config: { countsAsWrite: true }, schema: exported }, async (request, reply) => {
    const { did } = identityOf(request);
    const by = { actor: audit.person(did), from: clientAddress(request) };
    const reader = { client: clientKey(request), reading: request.inPlace.bind(request) };
    return sendJson(reply, await userData.export(did, by, reader));
  });
  const erased = route('Erase everything kept of you', {
    description: 'With an invocation, or a delegation that grants `oracle/erase`.',
    response: { 200: z.object({ ok: z.literal(true) }) },
  });
  server.delete('/me', { schema: erased }, async (request) => {
    const { did } = identityOf(request);
    if (!mayErase(identityOf(request), dids))
      throw new AppError('FORBIDDEN', 'This delegation does not grant oracle/erase. Sign in with an invocation.');
    await userData.erase(did, { actor: audit.person(did), from: clientAddress(request) });
    return { ok: true as const };
  });

  const admins = {
    onRequest: server.operatorGuardFor('admin'),
    config: { audited: true },
    schema: { tags: ['Operators'], params: z.object({ did: z.string().regex(didPattern) }) },
  };
  server.get('/users/:did/export', admins, async (request, reply) => {
    const reader = { client: clientKey(request), isOperator: true, reading: request.inPlace.bind(request) };
    return sendJson(reply, await userData.export(request.params.did, toAuditBy(request), reader));
  });
  server.delete('/users/:did', admins, async (request) => {
    await userData.erase(request.params.did, toAuditBy(request));
    return { ok: true as const };
  });
}

/** Whoever holds a delegation may do what it grants; one for chats erases nothing. */
function mayErase({ did, isDelegated, delegation }: Identity, dids: readonly string[]): boolean {
  if (!isDelegated) return true;
  const grants = (resource: string) =>
    delegation !== undefined && hasCapability(delegation.view, { can: 'oracle/erase', with: resource });
  return [did, oracleResource, ...dids].some(grants);
}
