import { MsgGrant } from 'cosmjs-types/cosmos/authz/v1beta1/tx';
import { SendAuthorization } from 'cosmjs-types/cosmos/bank/v1beta1/authz';
import type { Coin } from '../src/messages.ts';
import type { TxMessage } from '../src/signing-account.ts';

interface NewSendGrant {
  granter: string;
  grantee: string;
  limit: readonly Coin[];
  expiresAt: Date;
}

/** Lets the grantee send coins of the granter, up to the limit. The granter signs. */
export function toSendGrant({ granter, grantee, limit, expiresAt }: NewSendGrant): TxMessage {
  const authorization = {
    typeUrl: SendAuthorization.typeUrl,
    value: SendAuthorization.encode(SendAuthorization.fromPartial({ spendLimit: [...limit] })).finish(),
  };
  const expiration = { seconds: BigInt(Math.floor(expiresAt.getTime() / 1000)), nanos: 0 };
  const message = MsgGrant.fromPartial({ granter, grantee, grant: { authorization, expiration } });
  return { typeUrl: MsgGrant.typeUrl, value: MsgGrant.encode(message).finish() };
}
