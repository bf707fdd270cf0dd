import type { Any } from '@bufbuild/protobuf/wkt';
import type { Coin } from '../world/world.ts';
import { isAddress } from './address.ts';
import { type ClaimMessage, evaluateClaim, submitClaim } from './claim-messages.ts';
import { checkCoins } from './coins.ts';
import type { TxMessage } from './decode-tx.ts';
import type { Execution, Outcome } from './execution.ts';
import { type Grant, grantSends, noAuthorization, useGrant } from './send-grants.ts';
import { type TxEvent, toTransferEvents } from './tx-event.ts';
import { refuseTx, type TxFault } from './tx-fault.ts';

type Send = TxMessage & { fromAddress: string; toAddress: string; amount: Coin[] };
type Exec = TxMessage & { grantee: string; msgs: Any[] };

/** Runs one message for those who signed it. */
export function executeMessage(execution: Execution, message: TxMessage, signer: string): Outcome {
  switch (message.$typeName as string) {
    case 'cosmos.bank.v1beta1.MsgSend':
      return requireSigner((message as Send).fromAddress, signer) ?? send(execution, message as Send);
    case 'cosmos.authz.v1beta1.MsgGrant':
      return requireSigner((message as Grant).granter, signer) ?? grantSends(execution, message as Grant);
    case 'cosmos.authz.v1beta1.MsgExec':
      return requireSigner((message as Exec).grantee, signer) ?? executeGranted(execution, message as Exec);
    case 'ixo.claims.v1beta1.MsgSubmitClaim':
    case 'ixo.claims.v1beta1.MsgEvaluateClaim':
      return (
        requireSigner((message as ClaimMessage).adminAddress, signer) ?? runClaim(execution, message as ClaimMessage)
      );
    default:
      return refuseTx('unknownRequest', `this node does not run ${message.$typeName}`);
  }
}

function requireSigner(address: string, signer: string): TxFault | undefined {
  return address === signer ? undefined : refuseTx('unauthorized', `${address} did not sign this message`);
}

function send({ changes }: Execution, { fromAddress: from, toAddress: to, amount: coins }: Send): Outcome {
  if (!isAddress(to)) return refuseTx('invalidAddress', `invalid to address: ${to}`);
  if (coins.length === 0) return refuseTx('invalidCoins', 'expected an amount');
  const fault = checkCoins(coins);
  if (fault) return fault;
  if (!changes.move({ from, to, coins })) {
    return refuseTx('insufficientFunds', `spendable balance of ${from} is smaller than the amount`);
  }
  return { ok: true, events: toTransferEvents({ from, to, coins }) };
}

function executeGranted(execution: Execution, { grantee, msgs }: Exec): Outcome {
  const events: TxEvent[] = [];
  for (const any of msgs) {
    const outcome = executeFor(execution, execution.decoder.unpack(any), grantee);
    if (!outcome.ok) return outcome;
    events.push(...outcome.events);
  }
  return { ok: true, events };
}

/** On this node every account has the admins' grant to submit and evaluate claims in its own name. */
function executeFor(execution: Execution, message: TxMessage | undefined, grantee: string): Outcome {
  if ((message?.$typeName as string) === 'cosmos.bank.v1beta1.MsgSend') {
    const { fromAddress: from, toAddress: to, amount: coins } = message as Send;
    return useGrant(execution, { from, to, coins, grantee }) ?? send(execution, message as Send);
  }
  const claim = message as ClaimMessage | undefined;
  const isClaim = claim?.$typeName.startsWith('ixo.claims.v1beta1.Msg') && claim.agentAddress === grantee;
  return claim && isClaim ? runClaim(execution, claim) : noAuthorization;
}

function runClaim(execution: Execution, message: ClaimMessage): Outcome {
  const fault = checkCoins(message.amount);
  if (fault) return fault;
  return message.$typeName === 'ixo.claims.v1beta1.MsgSubmitClaim'
    ? submitClaim(execution, message)
    : evaluateClaim(execution, message);
}
