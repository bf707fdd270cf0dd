import { clone, create, type FileRegistry, toJsonString } from '@bufbuild/protobuf';
import { type Any, type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { getMessage } from '../protocol.ts';
import type { Claim, Coin, Collection, Payment } from '../world/world.ts';
import { isAddress, refuseClaim, refuseTx, type TxFault, type TxMessage } from './decode-tx.ts';
import { checkCoins, type Execution, type Outcome, type TxEvent, toEvent, toTransferEvents } from './execution.ts';

type Send = TxMessage & { fromAddress: string; toAddress: string; amount: Coin[] };
type Exec = TxMessage & { grantee: string; msgs: Any[] };

/** Who must have signed each message, by the name of the field, and what runs it. */
const handlers: Record<string, [signer: string, run: (execution: Execution, message: never) => Outcome]> = {
  'cosmos.bank.v1beta1.MsgSend': ['fromAddress', send],
  'cosmos.authz.v1beta1.MsgGrant': ['granter', grantSends],
  'cosmos.authz.v1beta1.MsgExec': ['grantee', executeGranted],
  'ixo.claims.v1beta1.MsgSubmitClaim': ['adminAddress', runClaim],
  'ixo.claims.v1beta1.MsgEvaluateClaim': ['adminAddress', runClaim],
};

export function executeMessage(execution: Execution, message: TxMessage, signer: string): Outcome {
  const [field, run] = handlers[message.$typeName as string] ?? [];
  if (field === undefined || !run) return refuseTx('unknownRequest', `this node does not run ${message.$typeName}`);
  const address = message[field];
  return address === signer
    ? run(execution, message as never)
    : refuseTx('unauthorized', `${address} did not sign this message`);
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

type ClaimMessage = TxMessage & {
  claimId: string;
  collectionId: string;
  agentDid: string;
  agentAddress: string;
  adminAddress: string;
  amount: Coin[];
  status: number;
};

const collectionOpen = 0;
const intentRequired = 2;
const approved = 1;
const rejected = 2;
const paid = 4;
const maxIdLength = 200;

function submitClaim(execution: Execution, message: ClaimMessage): Outcome {
  const { protocol, world, changes, blockTime } = execution;
  const found = findCollection(execution, message);
  if (!found.ok) return found;
  const { collection } = found;
  if (collection.startDate && blockTime < timestampDate(collection.startDate)) {
    return refuseClaim(1102, 'collection for claim has not started yet');
  }
  if (collection.endDate && blockTime > timestampDate(collection.endDate)) {
    return refuseClaim(1103, 'collection for claim has ended');
  }
  if (collection.quota > 0n && collection.count >= collection.quota) {
    return refuseClaim(1104, "collection for claim's quato has been reached");
  }
  if (collection.intents === intentRequired) return refuseClaim(1500, 'intent not found');
  if (!message.claimId || message.claimId.length > maxIdLength) return refuseTx('unknownRequest', 'invalid claim id');
  if (world.claims.get(message.claimId)) return refuseClaim(1105, 'claim with id already exists');

  const { collectionId, claimId, agentDid, agentAddress, amount } = message;
  const claim = create(getMessage(protocol, 'ixo.claims.v1beta1.Claim'), {
    collectionId,
    claimId,
    agentDid,
    agentAddress,
    amount,
    submissionDate: timestampFromDate(blockTime),
    paymentsStatus: {},
  } as never) as Claim;
  const submission = pay(execution, collection.payments?.submission, { to: agentAddress });
  if (!submission.ok) return submission;
  if (submission.events.length > 0 && claim.paymentsStatus) claim.paymentsStatus.submission = paid;
  changes.putClaim(claim);
  changes.putCollection(copyCollection(protocol, collection, { count: collection.count + 1n }));
  const json = toJsonString(getMessage(protocol, 'ixo.claims.v1beta1.Claim'), claim, { useProtoFieldName: true });
  return {
    ok: true,
    events: [...submission.events, toEvent('ixo.claims.v1beta1.ClaimSubmittedEvent', { claim: json })],
  };
}

function evaluateClaim(execution: Execution, message: ClaimMessage): Outcome {
  const { protocol, world, changes, blockTime } = execution;
  const found = findCollection(execution, message);
  if (!found.ok) return found;
  const { collection } = found;
  const before = world.claims.get(message.claimId);
  if (!before) return refuseClaim(1100, 'claim not found');
  if (before.collectionId !== collection.id) {
    return refuseClaim(1300, 'evaluation claim and collection does not match');
  }
  if (before.evaluation) return refuseClaim(1106, 'claim with id already evaluated');
  if (message.status !== approved && message.status !== rejected) {
    return refuseTx('unknownRequest', 'this node takes the evaluations APPROVED and REJECTED');
  }

  const claim = clone(getMessage(protocol, 'ixo.claims.v1beta1.Claim'), before) as Claim;
  const evaluationDesc = getMessage(protocol, 'ixo.claims.v1beta1.Evaluation');
  const { adminAddress: _, $typeName: __, ...given } = message;
  claim.evaluation = create(evaluationDesc, { ...given, evaluationDate: timestampFromDate(blockTime) } as never);
  const isApproved = message.status === approved;
  const verdict = isApproved ? collection.payments?.approval : collection.payments?.rejection;
  const asked = [message.amount, before.amount].find((coins) => coins.length > 0);
  const payments = [
    pay(execution, verdict, { to: before.agentAddress, coins: isApproved ? asked : undefined }),
    pay(execution, collection.payments?.evaluation, { to: message.agentAddress }),
  ] as const;
  for (const payment of payments) if (!payment.ok) return payment;
  const [own, evaluators] = payments.map((payment) => (payment.ok ? payment.events : []));
  const { submission = 0, evaluation = 0, approval = 0, rejection = 0 } = before.paymentsStatus ?? {};
  claim.paymentsStatus = create(getMessage(protocol, 'ixo.claims.v1beta1.ClaimPayments'), {
    submission,
    evaluation: evaluators?.length ? paid : evaluation,
    approval: own?.length && isApproved ? paid : approval,
    rejection: own?.length && !isApproved ? paid : rejection,
  } as never) as never;
  changes.putClaim(claim);
  const counter = isApproved ? 'approved' : 'rejected';
  changes.putCollection(
    copyCollection(protocol, collection, {
      evaluated: collection.evaluated + 1n,
      [counter]: collection[counter] + 1n,
    }),
  );
  const json = toJsonString(evaluationDesc, claim.evaluation, { useProtoFieldName: true });
  return {
    ok: true,
    events: [
      ...(own ?? []),
      ...(evaluators ?? []),
      toEvent('ixo.claims.v1beta1.ClaimEvaluatedEvent', { evaluation: json }),
    ],
  };
}

function findCollection({ world }: Execution, message: ClaimMessage): { ok: true; collection: Collection } | TxFault {
  const collection = world.collections.get(message.collectionId);
  if (!collection) return refuseClaim(1001, `for ${message.collectionId}: collection not found`);
  if (collection.admin !== message.adminAddress) return refuseClaim(1101, 'unauthorized, incorrect admin');
  if (collection.state !== collectionOpen) return refuseClaim(1002, 'collection is not in open state');
  return { ok: true, collection };
}

/** Pays at once: this node does not wait for `timeout_ns` and takes no network fees. */
function pay(
  { changes }: Execution,
  payment: Payment | undefined,
  { to, coins = payment?.amount ?? [] }: { to: string; coins?: readonly Coin[] | undefined },
): { ok: true; events: TxEvent[] } | TxFault {
  const from = payment?.account;
  if (!from || coins.length === 0) return { ok: true, events: [] };
  if (!changes.move({ from, to, coins })) return refuseClaim(1401, `payment withdrawal failed: ${from} has too little`);
  return { ok: true, events: toTransferEvents({ from, to, coins }) };
}

function copyCollection(protocol: FileRegistry, collection: Collection, changed: Partial<Collection>): Collection {
  return Object.assign(clone(getMessage(protocol, 'ixo.claims.v1beta1.Collection'), collection), changed) as Collection;
}

type Grant = TxMessage & {
  granter: string;
  grantee: string;
  grant?: { authorization?: Any; expiration?: Timestamp };
};
type SendAuthorization = TxMessage & { spendLimit: Coin[]; allowList: string[] };

const sendAuthorization = 'cosmos.bank.v1beta1.SendAuthorization';
const noAuthorization: TxFault = { ok: false, codespace: 'authz', code: 2, log: 'authorization not found' };
const toKey = (granter: string, grantee: string) => `${granter}/${grantee}`;

function grantSends({ decoder, changes, blockTime }: Execution, { granter, grantee, grant }: Grant): Outcome {
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

/** Deducts the coins from what the grantee may send; returns why they may not be sent. */
function useGrant(
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
