import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

interface Evaluation {
  status: string;
  claim_id: string;
  collection_id: string;
  oracle: string;
}

interface Claim {
  collection_id: string;
  claim_id: string;
  agent_did: string;
  use_intent: boolean;
  evaluation?: Evaluation;
  evaluation_history?: Evaluation[];
}

async function read<T = Record<string, string>>(name: string): Promise<T[]> {
  return JSON.parse(await readFile(new URL(`../seed/${name}.json`, import.meta.url), 'utf8'));
}

const entities = await read('entities');
const documents = await read('iid-documents');
const claims = await read<Claim>('claims');
const collections = await read<Record<string, string | number>>('collections');
const dids = new Set(documents.map(({ id }) => id));

const disputes = await read('disputes');
const wasFlagged = ({ evaluation, evaluation_history = [] }: Claim) =>
  [evaluation, ...evaluation_history].some((given) => given?.status === 'FLAGGED');
const countDisputes = (own: Claim[]) => {
  const ids = new Set(own.map(({ claim_id }) => claim_id));
  const count = (status: string) =>
    disputes.filter((dispute) => ids.has(dispute.subject_id ?? '') && dispute.status === `DISPUTE_STATUS_${status}`)
      .length;
  return { disputes_open: count('OPEN'), disputes_awarded: count('AWARDED'), disputes_dismissed: count('DISMISSED') };
};

test('the counts of a collection are those of its claims', () => {
  for (const collection of collections) {
    const own = claims.filter(({ collection_id }) => collection_id === collection.id);
    const withStatus = (status: string) => own.filter(({ evaluation }) => evaluation?.status === status).length;
    expect(collection).toMatchObject({
      count: own.length,
      evaluated: own.filter(({ evaluation }) => evaluation).length,
      approved: withStatus('APPROVED'),
      rejected: withStatus('REJECTED'),
      disputed: withStatus('DISPUTED'),
      invalidated: withStatus('INVALIDATED'),
      flagged_active: withStatus('FLAGGED'),
      flagged: own.filter((claim) => wasFlagged(claim)).length,
      ...countDisputes(own),
    });
  }
});

test('every DID that is named has a document', () => {
  const named = [
    ...claims.flatMap(({ agent_did, evaluation }) => [agent_did, ...(evaluation ? [evaluation.oracle] : [])]),
    ...collections.flatMap(({ entity, protocol }) => [String(entity), String(protocol)]),
    ...entities.map(({ relayer_node }) => relayer_node),
  ];
  expect(named.filter((did) => !did || !dids.has(did))).toEqual([]);
});

test('evaluations belong to their claim, disputes and fulfilled intents to a claim that is there', async () => {
  const ids = new Set(claims.map(({ claim_id }) => claim_id));
  for (const { claim_id, collection_id, evaluation } of claims) {
    if (evaluation) expect(evaluation).toMatchObject({ claim_id, collection_id });
  }
  for (const { subject_id } of disputes) expect(ids).toContain(subject_id);
  for (const { claim_id } of await read('intents')) if (claim_id) expect(ids).toContain(claim_id);
});
