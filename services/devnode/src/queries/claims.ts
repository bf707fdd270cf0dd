import { type Refusal, refuseArgument, refuseUnknown } from '../refusal.ts';
import { emptyTable, type Row, type Table } from '../world/table.ts';
import {
  type AgentDeposit,
  type Dispute,
  type Intent,
  type MemberBudget,
  toIntentKey,
  toSubjectKey,
} from '../world/world.ts';
import { answerPage, type Page, type Paged, paginate } from './paginate.ts';
import { type Answer, answer, type ById, type Query } from './query.ts';

type IntentRequest = Pick<Intent, 'id' | 'agentAddress' | 'collectionId'>;
type InCollection = Paged & { collectionId: string };

const submitter = 1;
const evaluator = 2;
const roleNames: Record<number, string> = {
  0: 'DISPUTE_TARGET_ROLE_UNSPECIFIED',
  [submitter]: 'DISPUTE_TARGET_ROLE_SUBMITTER',
  [evaluator]: 'DISPUTE_TARGET_ROLE_EVALUATOR',
};

export const claimsQueries = {
  Params: ({ world }) => answer({ params: world.params.claims }),
  Collection: ({ world }, { id }: ById) =>
    answerOne('collection', id, { found: world.collections.get(id), missing: `for ${id}: collection not found` }),
  CollectionList: ({ world }, { pagination }: Paged) =>
    answerPage('collections', paginate(world.collections.rows, pagination)),
  Claim: ({ world }, { id }: ById) =>
    answerOne('claim', id, { found: world.claims.get(id), missing: `for ${id}: claim not found` }),
  ClaimList: ({ world }, { pagination }: Paged) => answerPage('claims', paginate(world.claims.rows, pagination)),
  Dispute: ({ world }, { proof }: { proof: string }) =>
    answerOne('dispute', proof, { found: world.disputes.get(proof), missing: `for proof ${proof}: dispute not found` }),
  DisputeList: ({ world }, { pagination }: Paged) => answerPage('disputes', paginate(world.disputes.rows, pagination)),
  Intent: ({ world }, request: IntentRequest) =>
    answerOne('intent', request.id && request.agentAddress && request.collectionId, {
      found: world.intents.get(toIntentKey(request)),
      missing: `for id ${request.id}: intent not found`,
    }),
  IntentList: ({ world }, { pagination }: Paged) => answerPage('intents', paginate(world.intents.rows, pagination)),
  CollectionMember: ({ world }, { collectionId, memberAddress }: MemberBudget) =>
    answerOne('memberBudget', collectionId && memberAddress, {
      found: world.budgetsByCollection.get(collectionId)?.get(memberAddress),
      missing: `for collection ${collectionId} member ${memberAddress}: member budget not found`,
    }),
  CollectionMemberList: ({ world }, { collectionId, pagination }: InCollection) =>
    answerList('memberBudgets', collectionId, paginate(rowsOf(world.budgetsByCollection, collectionId), pagination)),
  DisputeBySubject: ({ world }, request: Pick<Dispute, 'subjectId' | 'targetRole'>) =>
    answerOne('dispute', request.subjectId, {
      found: world.disputesBySubject.get(toSubjectKey(request)),
      missing: `subject ${request.subjectId} role ${roleNames[request.targetRole] ?? request.targetRole}: no dispute found for this (subject_id, target_role)`,
    }),
  DisputeListForSubject({ world }, { subjectId }: Pick<Dispute, 'subjectId'>) {
    if (subjectId === '') return refuseArgument('invalid request');
    const keys = [submitter, evaluator].map((targetRole) => toSubjectKey({ subjectId, targetRole }));
    return answer({ disputes: keys.flatMap((key) => world.disputesBySubject.get(key) ?? []) });
  },
  AgentDepositBalance: ({ world }, { collectionId, agentAddress }: AgentDeposit) =>
    answerOne('balance', collectionId && agentAddress, {
      found: world.depositsByCollection.get(collectionId)?.get(agentAddress),
      missing: `for collection ${collectionId} agent ${agentAddress}: agent performance-deposit balance not found`,
    }),
  AgentDepositBalanceList: ({ world }, { collectionId, pagination }: InCollection) =>
    answerList('balances', collectionId, paginate(rowsOf(world.depositsByCollection, collectionId), pagination)),
} satisfies Record<string, Query>;

function rowsOf<T>(tables: ReadonlyMap<string, Table<T>>, collectionId: string): readonly Row<T>[] {
  return (tables.get(collectionId) ?? emptyTable<T>()).rows;
}

function answerList<T>(field: string, collectionId: string, page: Page<T> | Refusal): Answer {
  return collectionId === '' ? refuseArgument('invalid request') : answerPage(field, page);
}

function answerOne(field: string, asked: string, { found, missing }: { found: unknown; missing: string }): Answer {
  if (asked === '') return refuseArgument('invalid request');
  return found === undefined ? refuseUnknown(missing) : answer({ [field]: found });
}
