import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { MsgExec } from 'cosmjs-types/cosmos/authz/v1beta1/tx';
import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx';
import type { TxMessage } from './signing-account.ts';

/**
 * An amount of one token.
 *
 * @example
 * ```ts
 * import type { Coin } from '@palaver/protocol';
 *
 * export const price: Coin = { denom: 'uixo', amount: '700' };
 * ```
 */
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

/** Sends coins of an account that has granted it to the grantee, who signs. */
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
/** In the order of their numbers. */
const submitFields = ['collectionId', 'claimId', 'agentDid', 'agentAddress', 'adminAddress'] as const;

/** The claim that a message of `toSubmitClaim` submits; undefined for any other message. */
export function fromSubmitClaim({ typeUrl, value }: TxMessage): NewClaim | undefined {
  if (typeUrl !== MsgExec.typeUrl) return undefined;
  const [inner] = MsgExec.decode(value).msgs;
  if (inner?.typeUrl !== submitClaim) return undefined;
  const claim: Record<string, string> = {};
  const reader = new BinaryReader(inner.value);
  while (reader.pos < reader.len) claim[submitFields[reader.tag()[0] - 1] ?? ''] = reader.string();
  return claim as unknown as NewClaim;
}

export interface NewEvaluation extends NewClaim {
  /** DID of the oracle entity in whose name the agent evaluates. */
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
