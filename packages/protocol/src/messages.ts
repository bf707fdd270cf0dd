import { createHash } from 'node:crypto';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { envInteger } from '@palaver/service-kit';
import { MsgExec } from 'cosmjs-types/cosmos/authz/v1beta1/tx';
import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx';
import { z } from 'zod';
import type { GatewayClient, GatewayFault, GatewayResult } from './gateway-client.ts';
import type { TxMessage } from './signing-account.ts';

/** An amount of one token. */
export interface Coin {
  denom: string;
  amount: string;
}

/**
 * Sends coins.
 *
 * @example
 * ```ts
 * import { toSend } from '@palaver/protocol';
 *
 * export const payment = toSend({ from: 'ixo1from', to: 'ixo1to', coins: [{ denom: 'uixo', amount: '700' }] });
 * ```
 */
export function toSend({ from, to, coins }: { from: string; to: string; coins: readonly Coin[] }): TxMessage {
  const message = MsgSend.fromPartial({ fromAddress: from, toAddress: to, amount: [...coins] });
  return { typeUrl: MsgSend.typeUrl, value: MsgSend.encode(message).finish() };
}

/** Sends coins of an account that has granted this to the grantee, who signs. */
export function toSendFor(transfer: { grantee: string; from: string; to: string; coins: readonly Coin[] }): TxMessage {
  return toExec(transfer.grantee, toSend(transfer));
}

export interface NewClaim {
  collectionId: string;
  claimId: string;
  agentDid: string;
  agentAddress: string;
  /** The collection's admin, who has granted the agent the right to submit. */
  adminAddress: string;
}

/**
 * `ixo.claims.v1beta1.MsgSubmitClaim`, run by the agent under the admin's grant.
 *
 * @example
 * ```ts
 * import { toSubmitClaim } from '@palaver/protocol';
 *
 * const agent = { agentDid: 'did:ixo:agent', agentAddress: 'ixo1agent', adminAddress: 'ixo1admin' };
 * export const message = toSubmitClaim({ collectionId: '1', claimId: 'c1', ...agent });
 * ```
 */
export function toSubmitClaim(claim: NewClaim): TxMessage {
  const value = encodeStrings(submitFields.map((name, index) => [index + 1, claim[name]])).finish();
  return toExec(claim.agentAddress, { typeUrl: submitClaim, value });
}

const submitClaim = '/ixo.claims.v1beta1.MsgSubmitClaim';
/** In the order of their field numbers. */
const submitFields = ['collectionId', 'claimId', 'agentDid', 'agentAddress', 'adminAddress'] as const;

export function fromSubmitClaim({ typeUrl, value }: TxMessage): NewClaim | undefined {
  if (typeUrl !== MsgExec.typeUrl) return undefined;
  const [inner] = MsgExec.decode(value).msgs;
  if (inner?.typeUrl !== submitClaim) return undefined;
  const claim: Record<string, string> = {};
  const reader = new BinaryReader(inner.value);
  while (reader.pos < reader.len) claim[submitFields[reader.tag()[0] - 1] ?? ''] = reader.string();
  return claim as unknown as NewClaim;
}

interface NewEvaluation extends NewClaim {
  oracle: string;
  isApproved: boolean;
}

/**
 * `ixo.claims.v1beta1.MsgEvaluateClaim`, run by the agent under the admin's grant.
 *
 * @example
 * ```ts
 * import { toEvaluateClaim } from '@palaver/protocol';
 *
 * const agent = { agentDid: 'did:ixo:agent', agentAddress: 'ixo1agent', adminAddress: 'ixo1admin' };
 * export const message = toEvaluateClaim({
 *   collectionId: '1',
 *   claimId: 'c1',
 *   oracle: 'did:ixo:entity:oracle',
 *   isApproved: true,
 *   ...agent,
 * });
 * ```
 */
export function toEvaluateClaim(evaluation: NewEvaluation): TxMessage {
  const writer = encodeStrings([
    [1, evaluation.claimId],
    [2, evaluation.collectionId],
    [3, evaluation.oracle],
    [4, evaluation.agentDid],
    [5, evaluation.agentAddress],
    [6, evaluation.adminAddress],
  ]);
  writer.tag(7, WireType.Varint).int32(evaluation.isApproved ? 1 : 2);
  return toExec(evaluation.agentAddress, {
    typeUrl: '/ixo.claims.v1beta1.MsgEvaluateClaim',
    value: writer.finish(),
  });
}

function toExec(grantee: string, message: TxMessage): TxMessage {
  return {
    typeUrl: MsgExec.typeUrl,
    value: MsgExec.encode(MsgExec.fromPartial({ grantee, msgs: [message] })).finish(),
  };
}

function encodeStrings(fields: [number, string][]): BinaryWriter {
  const writer = new BinaryWriter();
  for (const [number, text] of fields) writer.tag(number, WireType.LengthDelimited).string(text);
  return writer;
}

const coinsSchema = z.array(z.object({ denom: z.string(), amount: z.string().regex(/^\d{1,78}$/) }));
const collectionSchema = z.object({
  collection: z.object({
    admin: z.string(),
    payments: z.object({ approval: z.object({ amount: coinsSchema }).nullish() }).nullish(),
  }),
});
const claimSchema = z.object({
  claim: z.object({
    collection_id: z.string(),
    agent_did: z.string(),
    agent_address: z.string(),
    amount: coinsSchema.default([]),
    evaluation: z.object({ status: z.string(), amount: coinsSchema.default([]) }).nullish(),
    payments_status: z.object({ approval: z.string() }).nullish(),
  }),
});

export async function readCollection(gateway: GatewayClient, id: string) {
  const found = parse(collectionSchema, await gateway.get(`/ixo/claims/collection/${encodeURIComponent(id)}`));
  if (!found.ok) return found;
  const { admin, payments } = found.data.collection;
  return { ok: true as const, admin, reward: payments?.approval?.amount ?? [] };
}

/** Whose a claim must be: its id is public before it is in a block, so anyone may submit another claim under it first. */
type ClaimOwner = Pick<NewClaim, 'collectionId' | 'agentAddress'> & Partial<Pick<NewClaim, 'agentDid'>>;

interface ClaimFault extends Omit<GatewayFault, 'kind'> {
  /** `foreign`: another agent has submitted a claim under this id, or into another collection. */
  kind: GatewayFault['kind'] | 'foreign';
}

/** Without a status the claim is not evaluated yet; without an `amount` that of its collection counts. */
export async function readClaim(gateway: GatewayClient, id: string, owner: ClaimOwner) {
  const found = parse(claimSchema, await gateway.get(`/ixo/claims/claim/${encodeURIComponent(id)}`));
  if (!found.ok) return found as ClaimFault;
  const { claim } = found.data;
  const isOwn =
    claim.collection_id === owner.collectionId &&
    claim.agent_address === owner.agentAddress &&
    claim.agent_did === (owner.agentDid ?? claim.agent_did);
  if (!isOwn) {
    const message = `the claim ${id} is of another agent (${claim.agent_address}, collection ${claim.collection_id})`;
    return { ok: false, kind: 'foreign', status: undefined, message } satisfies ClaimFault as ClaimFault;
  }
  const amount = [claim.evaluation?.amount ?? [], claim.amount].find((coins) => coins.length > 0);
  return { ok: true as const, status: toStatus(claim), amount };
}

function toStatus(claim: z.infer<typeof claimSchema>['claim']): 'approved' | 'rejected' | 'paid' | undefined {
  if (claim.evaluation?.status === 'REJECTED') return 'rejected';
  if (claim.evaluation?.status !== 'APPROVED') return undefined;
  return claim.payments_status?.approval === 'PAID' ? 'paid' : 'approved';
}

function parse<T>(schema: z.ZodType<T>, result: GatewayResult): { ok: true; data: T } | GatewayFault {
  if (!result.ok) return result;
  const parsed = schema.safeParse(result.value);
  if (parsed.success) return { ok: true, data: parsed.data };
  return { ok: false, kind: 'invalid', status: undefined, message: 'an answer of another form' };
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** The content id (CIDv1, raw, SHA-256) of a text, as the protocol names claims. */
export function toClaimId(content: string): string {
  const digest = createHash('sha256').update(content).digest();
  const bits = [0x01, 0x55, 0x12, 0x20, ...digest].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const letters = bits.match(/.{1,5}/g) ?? [];
  return `b${letters.map((part) => alphabet[Number.parseInt(part.padEnd(5, '0'), 2)]).join('')}`;
}

/** Gives the content another id, because another agent has submitted a claim under `takenId`. The same at every retry. */
export function renewContent(content: string, takenId: string): string {
  return JSON.stringify({ ...(JSON.parse(content) as object), retryOf: takenId });
}

export const claimsVariables = (route: string) => ({
  CLAIMS_INTERVAL_SECONDS: envInteger({ min: 0, max: 86_400 })
    .prefault('5')
    .meta({ description: `How often claims are processed; 0 leaves it to \`POST ${route}\`.` }),
  CLAIMS_SCHEDULER_SECRET: z.string().min(16, 'expected at least 16 characters').optional().meta({
    description: 'Secret with which a scheduler may have claims processed, sent in X-Scheduler-Secret.',
    example: 'a-long-random-text',
    secret: true,
  }),
});

export const envCollection = () => z.string().regex(/^[\w-]{1,64}$/, 'expected the id of a collection');
