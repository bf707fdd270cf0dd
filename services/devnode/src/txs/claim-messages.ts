import { clone, create, type FileRegistry, toJsonString } from '@bufbuild/protobuf';
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { getMessage } from '../protocol.ts';
import type { Claim, Coin, Collection, Payment } from '../world/world.ts';
import type { TxMessage } from './decode-tx.ts';
import type { Execution, Outcome } from './execution.ts';
import { type TxEvent, toEvent, toTransferEvents } from './tx-event.ts';
import { refuseClaim, refuseTx, type TxFault } from './tx-fault.ts';

/** `MsgSubmitClaim` and `MsgEvaluateClaim`. */
export type ClaimMessage = TxMessage & {
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

export function submitClaim(execution: Execution, message: ClaimMessage): Outcome {
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
    ...{ collectionId, claimId, agentDid, agentAddress, amount },
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

export function evaluateClaim(execution: Execution, message: ClaimMessage): Outcome {
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

  const desc = getMessage(protocol, 'ixo.claims.v1beta1.Claim');
  const claim = clone(desc, before) as Claim;
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

/** Pays at once: this node does not wait for `timeout_ns` and takes no fees of the network. */
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
