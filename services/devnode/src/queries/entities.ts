import { type Refusal, refuseArgument, refuseByModule, refuseMissing } from '../chain.ts';
import {
  type AgentDeposit,
  type Dispute,
  type Entity,
  type IidDocument,
  type Intent,
  type MemberBudget,
  type Table,
  toIntentKey,
  toSubjectKey,
  type World,
} from '../world/world.ts';
import { type Answer, answer, answerPage, type ById, type Paged, type Query } from './query.ts';

export const entityQueries = {
  Params: ({ world }) => answer({ params: world.params.entity }),
  Entity: ({ world }, { id }: ById) => withEntity(world, id, (entity, iidDocument) => answer({ entity, iidDocument })),
  EntityMetaData: ({ world }, { id }: ById) => withEntity(world, id, (entity) => answer({ entity })),
  EntityIidDocument: ({ world }, { id }: ById) => withEntity(world, id, (_, iidDocument) => answer({ iidDocument })),
  EntityVerified: ({ world }, { id }: ById) =>
    withEntity(world, id, ({ entityVerified }) => answer({ entityVerified })),
  EntityList: ({ world }, { pagination }: Paged) => answerPage('entities', world.entities.rows, pagination),
} satisfies Record<string, Query>;

function withEntity(world: World, id: string, use: (entity: Entity, document: IidDocument) => Answer): Answer {
  if (id === '') return refuseArgument('invalid request');
  const document = world.iidDocuments.get(id);
  if (!document) return refuseMissing('did document not found');
  const entity = world.entities.get(id);
  return entity ? use(entity, document) : refuseMissing('entity not found');
}

export const iidQueries = {
  IidDocuments: ({ world }, { pagination }: Paged) => answerPage('iidDocuments', world.iidDocuments.rows, pagination),
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

const refuseClaims = (code: number, text: string): Refusal => refuseByModule('claims', code, text);

export const claimsQueries = {
  Params: ({ world }) => answer({ params: world.params.claims }),
  Collection: ({ world }, { id }: ById) =>
    answerOne({ collection: world.collections.get(id) }, id, refuseClaims(1001, `collection not found: for ${id}`)),
  CollectionList: ({ world }, { pagination }: Paged) => answerPage('collections', world.collections.rows, pagination),
  Claim: ({ world }, { id }: ById) =>
    answerOne({ claim: world.claims.get(id) }, id, refuseClaims(1100, `claim not found: for ${id}`)),
  ClaimList: ({ world }, { pagination }: Paged) => answerPage('claims', world.claims.rows, pagination),
  Dispute: ({ world }, { proof }: { proof: string }) =>
    answerOne(
      { dispute: world.disputes.get(proof) },
      proof,
      refuseClaims(1200, `dispute not found: for proof ${proof}`),
    ),
  DisputeList: ({ world }, { pagination }: Paged) => answerPage('disputes', world.disputes.rows, pagination),
  Intent({ world }, request: IntentRequest) {
    const missing = refuseClaims(1500, `intent not found: for id ${request.id}`);
    const asked = request.id && request.agentAddress && request.collectionId;
    return answerOne({ intent: world.intents.get(toIntentKey(request)) }, asked, missing);
  },
  IntentList: ({ world }, { pagination }: Paged) => answerPage('intents', world.intents.rows, pagination),
  CollectionMember({ world }, { collectionId, memberAddress }: MemberBudget) {
    const memberBudget = world.budgetsByCollection.get(collectionId)?.get(memberAddress);
    const detail = `for collection ${collectionId} member ${memberAddress}`;
    const missing = refuseClaims(1800, `member budget not found: ${detail}`);
    return answerOne({ memberBudget }, collectionId && memberAddress, missing);
  },
  CollectionMemberList: ({ world }, request: InCollection) =>
    answerList('memberBudgets', world.budgetsByCollection, request),
  DisputeBySubject({ world }, request: Pick<Dispute, 'subjectId' | 'targetRole'>) {
    const detail = `subject ${request.subjectId} role ${roleNames[request.targetRole] ?? request.targetRole}`;
    const missing = refuseClaims(1910, `no dispute found for this (subject_id, target_role): ${detail}`);
    return answerOne({ dispute: world.disputesBySubject.get(toSubjectKey(request)) }, request.subjectId, missing);
  },
  DisputeListForSubject({ world }, { subjectId }: Pick<Dispute, 'subjectId'>) {
    if (subjectId === '') return refuseArgument('invalid request');
    const keys = [submitter, evaluator].map((targetRole) => toSubjectKey({ subjectId, targetRole }));
    return answer({ disputes: keys.flatMap((key) => world.disputesBySubject.get(key) ?? []) });
  },
  AgentDepositBalance({ world }, { collectionId, agentAddress }: AgentDeposit) {
    const balance = world.depositsByCollection.get(collectionId)?.get(agentAddress);
    const detail = `for collection ${collectionId} agent ${agentAddress}`;
    const missing = refuseClaims(1901, `agent performance-deposit balance not found: ${detail}`);
    return answerOne({ balance }, collectionId && agentAddress, missing);
  },
  AgentDepositBalanceList: ({ world }, request: InCollection) =>
    answerList('balances', world.depositsByCollection, request),
} satisfies Record<string, Query>;

function answerList<T>(field: string, tables: ReadonlyMap<string, Table<T>>, request: InCollection): Answer {
  const { collectionId, pagination } = request;
  if (collectionId === '') return refuseArgument('invalid request');
  return answerPage(field, tables.get(collectionId)?.rows ?? [], pagination);
}

function answerOne(found: Record<string, unknown>, asked: string, missing: Refusal): Answer {
  if (asked === '') return refuseArgument('invalid request');
  return Object.values(found).includes(undefined) ? missing : answer(found);
}
