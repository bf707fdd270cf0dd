import { refuseArgument, refuseUnknown } from '../refusal.ts';
import { type Intent, toIntentKey } from '../world/world.ts';
import { answerPage, type Paged, paginate } from './paginate.ts';
import { type Answer, answer, type ById, type Query } from './query.ts';

type IntentRequest = Pick<Intent, 'id' | 'agentAddress' | 'collectionId'>;

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
} satisfies Record<string, Query>;

function answerOne(field: string, asked: string, { found, missing }: { found: unknown; missing: string }): Answer {
  if (asked === '') return refuseArgument('invalid request');
  return found === undefined ? refuseUnknown(missing) : answer({ [field]: found });
}
