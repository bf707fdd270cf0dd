import { AppError, errorBodySchema } from '@palaver/contract';
import { boundedText, callerSchema, phoneNumberSchema, recentCallersSchema } from '@palaver/contract/internal';
import type { Logger, Server } from '@palaver/service-kit';
import { isNamed, maskPhone, toAuditBy } from '@palaver/service-kit/internal';
import { unreadableText } from '@palaver/store/internal';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { pushSchema } from '../channel/push.ts';
import type { OperatorParts } from './start-operators.ts';

const recentCallers = 20;
const referenceSchema = boundedText(0, 300);
const ofNumber = { params: z.object({ phoneNumber: phoneNumberSchema }) };

export const protocolAddressSchema = z
  .string()
  .regex(/^[a-z]{1,20}1[02-9ac-hj-np-z]{38,70}$/, 'must be a protocol address');

const schemas = {
  push: {
    body: pushSchema,
    response: { 202: z.object({}), 404: errorBodySchema, 409: errorBodySchema, 503: errorBodySchema },
  },
  find: {
    body: z.union([z.strictObject({ phoneNumber: phoneNumberSchema }), z.strictObject({ caller: referenceSchema })]),
    response: { 200: callerSchema, 404: errorBodySchema },
  },
  reveal: { body: z.strictObject({ caller: referenceSchema }) },
  address: {
    ...ofNumber,
    body: z.object({ address: protocolAddressSchema.nullable() }),
    response: {
      200: z.unknown().describe('Changed'),
      202: z.unknown().describe('Another admin has to approve it'),
    },
  },
  change: { params: z.object({ id: z.uuid() }) },
};

/** Numbers are masked until an operator asks for them; each look and each request is in the audit log. */
export function addCallerRoutes(server: Server, parts: OperatorParts): void {
  const { callers, callerReferences, accounts, audit, push } = parts;
  const onRequest = server.operatorGuardFor('admin');
  const audited = { config: { audited: 'always' } } as const;
  const name = (phoneNumber: string) => ({
    caller: callerReferences.create(phoneNumber),
    maskedNumber: maskPhone(phoneNumber),
  });
  const record = (request: FastifyRequest, action: 'caller.viewed' | 'caller.revealed', phoneNumber: string) =>
    audit.record({ ...toAuditBy(request), action, subject: audit.person(phoneNumber) });

  server.get('/api/ussd/callers', { schema: { response: { 200: recentCallersSchema } } }, async () => ({
    callers: (await callers.recent(recentCallers)).map(({ phoneNumber, ...rest }) => ({
      ...name(phoneNumber),
      ...rest,
    })),
  }));
  server.post('/api/ussd/push', { ...audited, onRequest, schema: schemas.push }, async (request, reply) => {
    const { program, phoneNumber, by } = request.body;
    const about = { subject: audit.person(phoneNumber), details: { program, by } };
    await audit.record({ ...toAuditBy(request), action: 'caller.pushed', ...about });
    await push(request.body, request.log as Logger);
    return reply.code(202).send({});
  });
  // By POST: a phone number in an address would appear in the logs of proxies.
  server.post('/api/ussd/callers/find', { ...audited, schema: schemas.find }, async (request) => {
    const { body } = request;
    const phoneNumber = 'caller' in body ? callerReferences.open(body.caller) : body.phoneNumber;
    await record(request, 'caller.viewed', phoneNumber);
    const found = await callers.load(phoneNumber);
    if (!found) throw new AppError('NOT_FOUND', 'Nothing is stored about this phone number.');
    return { ...name(phoneNumber), ...found };
  });
  server.post('/api/ussd/callers/reveal', { ...audited, schema: schemas.reveal }, async (request) => {
    const phoneNumber = callerReferences.open(request.body.caller);
    await record(request, 'caller.revealed', phoneNumber);
    return { phoneNumber };
  });

  const account = '/api/ussd/accounts/:phoneNumber';
  server.post(`${account}/unlock`, { schema: ofNumber, config: { audited: true } }, async (request) => {
    const { phoneNumber } = request.params;
    if (!(await accounts.unlock(phoneNumber, toAuditBy(request)))) throw noAccount();
    return { phoneNumber, unlocked: true };
  });
  const config = { audited: true, refuses: [409] };
  server.post(`${account}/reset-pin`, { onRequest, schema: ofNumber, config }, async (request, reply) => {
    const { phoneNumber } = request.params;
    const pin = await accounts.resetPin(phoneNumber, toAuditBy(request));
    if (pin === undefined) throw noAccount();
    return reply.header('cache-control', 'no-store').send({ phoneNumber, pin });
  });
}

function noAccount(): AppError {
  return new AppError('NOT_FOUND', 'This phone number has no account.');
}

export function addPersonDataRoutes(server: Server, { personData, agentPerson }: OperatorParts): void {
  const options = { onRequest: server.operatorGuardFor('admin'), config: { audited: true }, schema: ofNumber };
  server.get('/api/ussd/users/:phoneNumber/export', options, async (request) => {
    const { phoneNumber } = request.params;
    const agent = (await agentPerson?.export(phoneNumber)) ?? null;
    return { ussd: await personData.export(phoneNumber, toAuditBy(request)), agent };
  });
  server.delete('/api/ussd/users/:phoneNumber', options, async (request) => {
    const { phoneNumber } = request.params;
    // The part that can fail comes first: the gateway's own part is one transaction.
    await agentPerson?.erase(phoneNumber);
    await personData.erase(phoneNumber, toAuditBy(request));
    return { ok: true as const };
  });
}

/** With FOUR_EYES a change waits until another admin approves it. */
export function addAddressRoutes(server: Server, { config, accounts, addressChanges }: OperatorParts): void {
  const admin = { onRequest: server.operatorGuardFor('admin') };
  const ofAccount = { ...admin, schema: schemas.address, config: { audited: true } };
  const ofChange = { ...admin, schema: schemas.change };

  server.put('/api/ussd/accounts/:phoneNumber/address', ofAccount, async (request, reply) => {
    const { phoneNumber } = request.params;
    const { address } = request.body;
    if (config.FOUR_EYES) {
      requireName(request);
      const pending = await addressChanges.propose(phoneNumber, address, toAuditBy(request));
      if (!pending) throw noAccount();
      return reply.status(202).send({ pending });
    }
    if (!(await accounts.setAddress(phoneNumber, address, toAuditBy(request)))) throw noAccount();
    return { phoneNumber, address };
  });

  server.get('/api/ussd/address-changes', admin, async () => ({ changes: await addressChanges.list() }));

  const approval = { ...ofChange, config: { audited: true, refuses: [409] } };
  server.post('/api/ussd/address-changes/:id/approve', approval, async (request) => {
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
  });

  server.delete('/api/ussd/address-changes/:id', ofChange, async ({ params }) => {
    if (!(await addressChanges.remove(params.id))) throw noChange();
    return { ok: true };
  });
}

/** Someone with their own token may have the shared one too, and could approve their own change. */
function requireName({ operator }: FastifyRequest): void {
  if (!isNamed(operator))
    throw new AppError('FORBIDDEN', 'This needs a named operator (`palaver operator add`), not OPERATOR_TOKEN.');
}

function noChange(): AppError {
  return new AppError('NOT_FOUND', 'There is no such change, or it has expired.');
}
