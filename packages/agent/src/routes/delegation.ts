import { AppError, type ErrorCode } from '@palaver/contract';
import {
  type AuditAction,
  delegationParamsSchema,
  delegationRevokedSchema,
  delegationStatusSchema,
  delegationStoredSchema,
  type StoreDelegation,
  storeDelegationSchema,
} from '@palaver/contract/internal';
import { clientAddress, type Server } from '@palaver/service-kit';
import { describeRoutes, toAddressKey } from '@palaver/service-kit/internal';
import type { AuditLog } from '@palaver/store';
import type { UcanView, Verifier } from '@palaver/ucan';
import { hasCapability } from '@palaver/ucan/internal';
import type { FastifyRequest } from 'fastify';
import { identityOf } from '../auth/auth-hook.ts';
import type { RefusedDelegation } from '../auth/open-connections.ts';
import type { RunApprovals } from '../runs/approvals.ts';
import type { DelegationStore, RecordChange } from '../store/delegations.ts';
import type { AgentDatabase } from '../store/schema.ts';

/** The error codes for a token that is posted as a body, not as a credential. */
const codes: Partial<Record<string, ErrorCode>> = {
  UCAN_WRONG_AUDIENCE: 'DELEGATION_WRONG_AUDIENCE',
  UCAN_EXPIRED: 'DELEGATION_EXPIRED',
};

export interface DelegationRouteParts {
  delegations: DelegationStore;
  verifier: Verifier;
  audit: Pick<AuditLog<AgentDatabase>, 'record' | 'person'>;
  /** What waits for the delegation is approved in the transaction that stores it, and continues after it. */
  approvals: Pick<RunApprovals, 'grant' | 'wake'>;
  onRevoked(delegation: RefusedDelegation): void;
}

export function addDelegationRoutes(server: Server, parts: DelegationRouteParts): void {
  const { delegations, verifier, approvals, onRevoked } = parts;
  const recordBy = (request: FastifyRequest, action: AuditAction): RecordChange => {
    const person = parts.audit.person(identityOf(request).did);
    const event = { actor: person, action, subject: person, from: clientAddress(request) };
    return (trx, details) => parts.audit.record({ ...event, details }, trx);
  };
  const route = describeRoutes('Delegation');

  const posted = { body: storeDelegationSchema, response: { 200: delegationStoredSchema } };
  const store = route('Store a freshly signed delegation', posted);
  server.post('/delegation', { schema: store }, async (request) => {
    const { did } = identityOf(request);
    const { cid, expiration, view } = await checkDelegation(request, verifier);
    const stored = { token: request.body.raw, cid, expiration, capabilities: toCapabilities(view) };
    const record = recordBy(request, 'delegation.stored');
    let waiting: string[] = [];
    await delegations.put(did, stored, async (trx) => {
      await record(trx, { cid });
      waiting = await approvals.grant(trx, did, (capability) => hasCapability(view, capability));
    });
    for (const runId of waiting) approvals.wake(runId);
    return { ok: true as const, expiration, cid };
  });

  const shown = { response: { 200: delegationStatusSchema } };
  const status = route('Whether a delegation in force is stored, and what it grants', shown);
  server.get('/delegation', { schema: status }, async (request) => {
    const delegated = await delegations.list(identityOf(request).did, (bytes) => request.takePlace(bytes));
    const [latest] = delegated;
    return latest?.capabilities ? { authorized: true, ...latest, delegations: delegated } : { authorized: false };
  });

  const response = { 200: delegationRevokedSchema };
  const description = 'With an invocation: whoever holds a delegation may revoke that one alone.';
  const revokeAll = route('Revoke every stored delegation, replaced ones included', { description, response });
  server.delete('/delegation', { schema: revokeAll }, async (request) => {
    const { did, isDelegated } = identityOf(request);
    if (isDelegated) throw notByDelegation();
    const revoked = await delegations.revokeAll(did, recordBy(request, 'delegation.revoked'));
    for (const cid of revoked) onRevoked({ did, cid, standing: 'revoked' });
    return { ok: true as const };
  });

  const revokeOne = route('Revoke one delegation that you issued', { params: delegationParamsSchema, response });
  server.delete('/delegation/:cid', { schema: revokeOne }, async (request) => {
    const { did, isDelegated, chain } = identityOf(request);
    const { cid } = request.params;
    if (isDelegated && !chain.some((token) => token.cid === cid && token.issuer === did)) throw notByDelegation();
    await delegations.revoke(did, cid, recordBy(request, 'delegation.revoked'));
    request.outliveToken?.();
    onRevoked({ did, cid, standing: 'revoked' });
    return { ok: true as const };
  });
}

/** Checking a token costs as much as reading so many times its length. */
const checkingCost = 16;

const notByDelegation = () =>
  new AppError('FORBIDDEN', 'A delegation revokes only itself. Sign in with an invocation to revoke others.');

function toCapabilities({ capabilities }: UcanView) {
  return capabilities.map(({ can, with: resource, nb }) => ({
    can,
    with: resource,
    ...(nb && Object.keys(nb).length > 0 && { nb }),
  }));
}

async function checkDelegation(request: FastifyRequest & { body: StoreDelegation }, verifier: Verifier) {
  const { body } = request;
  const { did } = identityOf(request);
  const verify = () => verifier.verifyDelegation(body.raw, toAddressKey(clientAddress(request)));
  const verdict = await request.inPlace(checkingCost * body.raw.length, verify);
  if (!verdict.ok) {
    const { code, message, limited } = verdict.error;
    if (limited) throw new AppError('RATE_LIMITED', `The delegation was not checked: ${message}.`);
    const shown = verdict.error.revoked ? 'DELEGATION_REVOKED' : (codes[code] ?? 'DELEGATION_INVALID');
    throw new AppError(shown, `The delegation was not accepted: ${message}.`);
  }
  const token = verdict.ok;
  if (token.did !== did) throw new AppError('DELEGATION_NOT_YOURS', 'The delegation was issued by another user.');
  const contradictions = [
    body.issuer !== undefined && body.issuer !== token.did && 'issuer',
    body.audience !== undefined && body.audience !== token.view.audience && 'audience',
    body.expiration !== undefined && body.expiration !== token.view.expiration && 'expiration',
  ].filter((field) => typeof field === 'string');
  if (contradictions.length > 0) {
    const issues = contradictions.map((path) => ({ path, message: 'is not what the token says' }));
    throw new AppError('VALIDATION_FAILED', `The body contradicts the token: ${contradictions.join(', ')}.`, {
      details: { issues },
    });
  }
  return token;
}
