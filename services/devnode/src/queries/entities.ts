import { type ModuleError, type Refusal, refuseArgument, refuseByModule, refuseMissing } from '../chain.ts';
import {
  type AgentDeposit,
  type Dispute,
  type Entity,
  emptyTable,
  type IidDocument,
  type Intent,
  type MemberBudget,
  type Row,
  type Table,
  toIntentKey,
  toSubjectKey,
  type World,
} from '../world/world.ts';
import { type Answer, answer, answerPage, type ById, type Page, type Paged, paginate, type Query } from './query.ts';

export const entityQueries = {
  Params: ({ world }) => answer({ params: world.params.entity }),
  Entity: ({ world }, { id }: ById) => withEntity(world, id, (entity, iidDocument) => answer({ entity, iidDocument })),
  EntityMetaData: ({ world }, { id }: ById) => withEntity(world, id, (entity) => answer({ entity })),
  EntityIidDocument: ({ world }, { id }: ById) => withEntity(world, id, (_, iidDocument) => answer({ iidDocument })),
  EntityVerified: ({ world }, { id }: ById) =>
    withEntity(world, id, ({ entityVerified }) => answer({ entityVerified })),
  EntityList: ({ world }, { pagination }: Paged) => answerPage('entities', paginate(world.entities.rows, pagination)),
} satisfies Record<string, Query>;

function withEntity(world: World, id: string, use: (entity: Entity, document: IidDocument) => Answer): Answer {
  if (id === '') return refuseArgument('invalid request');
  const document = world.iidDocuments.get(id);
  if (!document) return refuseMissing('did document not found');
  const entity = world.entities.get(id);
  return entity ? use(entity, document) : refuseMissing('entity not found');
}

export const iidQueries = {
  IidDocuments: ({ world }, { pagination }: Paged) =>
    answerPage('iidDocuments', paginate(world.iidDocuments.rows, pagination)),
  IidDocument({ world }, { id }: ById) {
    if (id === '') return refuseArgument('iid Doc id cannot be empty');
    const iidDocument = world.iidDocuments.get(id);
    return iidDocument ? answer({ iidDocument }) : refuseMissing('did document not found');
  },
} satisfies Record<string, Query>;

type IntentRequest = Pick<Intent, 'id' | 'agentAddress' | 'collectionId'>;
type InCollection = Paged & { collectionId: string };

const submitter = 1;
const evaluator = 2;
const roleNames: Record<number, string> = {
  0: 'DISPUTE_TARGET_ROLE_UNSPECIFIED',
  [submitter]: 'DISPUTE_TARGET_ROLE_SUBMITTER',
  [evaluator]: 'DISPUTE_TARGET_ROLE_EVALUATOR',
};

const errorOf = (code: number, text: string): ModuleError => ({ codespace: 'claims', code, text });
const errors = {
  collection: errorOf(1001, 'collection not found'),
  claim: errorOf(1100, 'claim not found'),
  dispute: errorOf(1200, 'dispute not found'),
  intent: errorOf(1500, 'intent not found'),
  memberBudget: errorOf(1800, 'member budget not found'),
  deposit: errorOf(1901, 'agent performance-deposit balance not found'),
  disputeOfSubject: errorOf(1910, 'no dispute found for this (subject_id, target_role)'),
};

export const claimsQueries = {
  Params: ({ world }) => answer({ params: world.params.claims }),
  Collection: ({ world }, { id }: ById) =>
    answerOne('collection', id, {
      found: world.collections.get(id),
      missing: refuseByModule(errors.collection, `for ${id}`),
    }),
  CollectionList: ({ world }, { pagination }: Paged) =>
    answerPage('collections', paginate(world.collections.rows, pagination)),
  Claim: ({ world }, { id }: ById) =>
    answerOne('claim', id, { found: world.claims.get(id), missing: refuseByModule(errors.claim, `for ${id}`) }),
  ClaimList: ({ world }, { pagination }: Paged) => answerPage('claims', paginate(world.claims.rows, pagination)),
  Dispute: ({ world }, { proof }: { proof: string }) =>
    answerOne('dispute', proof, {
      found: world.disputes.get(proof),
      missing: refuseByModule(errors.dispute, `for proof ${proof}`),
    }),
  DisputeList: ({ world }, { pagination }: Paged) => answerPage('disputes', paginate(world.disputes.rows, pagination)),
  Intent: ({ world }, request: IntentRequest) =>
    answerOne('intent', request.id && request.agentAddress && request.collectionId, {
      found: world.intents.get(toIntentKey(request)),
      missing: refuseByModule(errors.intent, `for id ${request.id}`),
    }),
  IntentList: ({ world }, { pagination }: Paged) => answerPage('intents', paginate(world.intents.rows, pagination)),
  CollectionMember: ({ world }, { collectionId, memberAddress }: MemberBudget) =>
    answerOne('memberBudget', collectionId && memberAddress, {
      found: world.budgetsByCollection.get(collectionId)?.get(memberAddress),
      missing: refuseByModule(errors.memberBudget, `for collection ${collectionId} member ${memberAddress}`),
    }),
  CollectionMemberList: ({ world }, { collectionId, pagination }: InCollection) =>
    answerList('memberBudgets', collectionId, paginate(rowsOf(world.budgetsByCollection, collectionId), pagination)),
  DisputeBySubject: ({ world }, request: Pick<Dispute, 'subjectId' | 'targetRole'>) =>
    answerOne('dispute', request.subjectId, {
      found: world.disputesBySubject.get(toSubjectKey(request)),
      missing: refuseByModule(
        errors.disputeOfSubject,
        `subject ${request.subjectId} role ${roleNames[request.targetRole] ?? request.targetRole}`,
      ),
    }),
  DisputeListForSubject({ world }, { subjectId }: Pick<Dispute, 'subjectId'>) {
    if (subjectId === '') return refuseArgument('invalid request');
    const keys = [submitter, evaluator].map((targetRole) => toSubjectKey({ subjectId, targetRole }));
    return answer({ disputes: keys.flatMap((key) => world.disputesBySubject.get(key) ?? []) });
  },
  AgentDepositBalance: ({ world }, { collectionId, agentAddress }: AgentDeposit) =>
    answerOne('balance', collectionId && agentAddress, {
      found: world.depositsByCollection.get(collectionId)?.get(agentAddress),
      missing: refuseByModule(errors.deposit, `for collection ${collectionId} agent ${agentAddress}`),
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

function answerOne(field: string, asked: string, { found, missing }: { found: unknown; missing: Refusal }): Answer {
  if (asked === '') return refuseArgument('invalid request');
  return found === undefined ? missing : answer({ [field]: found });
}
