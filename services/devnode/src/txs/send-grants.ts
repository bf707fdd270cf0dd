import { type Any, type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import type { Coin } from '../world/world.ts';
import { checkCoins } from './coins.ts';
import type { TxMessage } from './decode-tx.ts';
import type { Execution, Outcome } from './execution.ts';
import { toEvent } from './tx-event.ts';
import { refuseTx, type TxFault } from './tx-fault.ts';

export type Grant = TxMessage & {
  granter: string;
  grantee: string;
  grant?: { authorization?: Any; expiration?: Timestamp };
};
type SendAuthorization = TxMessage & { spendLimit: Coin[]; allowList: string[] };

const sendAuthorization = 'cosmos.bank.v1beta1.SendAuthorization';
export const noAuthorization: TxFault = { ok: false, codespace: 'authz', code: 2, log: 'authorization not found' };
const toKey = (granter: string, grantee: string) => `${granter}/${grantee}`;

export function grantSends({ decoder, changes, blockTime }: Execution, { granter, grantee, grant }: Grant): Outcome {
  const authorization = grant?.authorization && (decoder.unpack(grant.authorization) as SendAuthorization | undefined);
  if ((authorization?.$typeName as string) !== sendAuthorization || !authorization)
    return refuseTx('unknownRequest', `this node grants ${sendAuthorization} alone`);
  if (granter === grantee)
    return { ok: false, codespace: 'authz', code: 7, log: 'grantee and granter should be different' };
  const fault = checkCoins(authorization.spendLimit);
  if (fault) return fault;
  const expiresAt = grant?.expiration && timestampDate(grant.expiration);
  if (expiresAt && expiresAt <= blockTime)
    return { ok: false, codespace: 'authz', code: 3, log: 'expiration must be after the current block time' };
  const limit = new Map(authorization.spendLimit.map(({ denom, amount }) => [denom, BigInt(amount)]));
  changes.putGrant(toKey(granter, grantee), { limit, allowList: authorization.allowList, expiresAt });
  const attributes = { msg_type_url: '/cosmos.bank.v1beta1.MsgSend', granter, grantee };
  return { ok: true, events: [toEvent('cosmos.authz.v1beta1.EventGrant', attributes)] };
}

/** Takes coins off what the grantee may send; the fault says why not. */
export function useGrant(
  { world, changes, blockTime }: Execution,
  { from, to, coins, grantee }: { from: string; to: string; coins: readonly Coin[]; grantee: string },
): TxFault | undefined {
  const key = toKey(from, grantee);
  const grant = world.sendGrants.get(key);
  if (!grant) return noAuthorization;
  if (grant.expiresAt && grant.expiresAt < blockTime)
    return { ok: false, codespace: 'authz', code: 6, log: 'authorization expired' };
  if (grant.allowList.length > 0 && !grant.allowList.includes(to))
    return refuseTx('unauthorized', `cannot send to ${to} address`);
  const fault = checkCoins(coins);
  if (fault) return fault;
  const limit = new Map(grant.limit);
  for (const { denom, amount } of coins) {
    const left = (limit.get(denom) ?? 0n) - BigInt(amount);
    if (left < 0n) return refuseTx('insufficientFunds', 'requested amount is more than spend limit');
    if (left === 0n) limit.delete(denom);
    else limit.set(denom, left);
  }
  changes.putGrant(key, limit.size === 0 ? undefined : { ...grant, limit });
  return undefined;
}
