import { readFile } from 'node:fs/promises';
import type { JsonObject } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { createLogger } from '@palaver/service-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNodeClient } from './node-client.ts';
import { startTestNode, type TestNode } from './start-test-node.ts';

const entity = 'ixo.entity.v1beta1.Query';
const claims = 'ixo.claims.v1beta1.Query';
const token = 'ixo.token.v1beta1.Query';
const iid = 'ixo.iid.v1beta1.Query';
const bank = 'cosmos.bank.v1beta1.Query';
const nodeService = 'cosmos.base.tendermint.v1beta1.Service';

let node: TestNode;
let client: Awaited<ReturnType<typeof createNodeClient>>;
let now = Date.UTC(2026, 0, 1);

beforeAll(async () => {
  node = await startTestNode({ logger: createLogger({ name: 'devnode', level: 'silent' }), clock: () => now });
  client = await createNodeClient(node.address);
});
afterAll(async () => {
  client[Symbol.dispose]();
  await node.close();
});

async function readSeed(name: string): Promise<JsonObject[]> {
  return JSON.parse(await readFile(new URL(`../seed/${name}.json`, import.meta.url), 'utf8'));
}

/** The seed item at `index`, and the response of the method that should return it. */
async function first(name: string): Promise<JsonObject> {
  const [item] = await readSeed(name);
  if (!item) throw new Error(`${name} is empty`);
  return item;
}

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

test('an entity comes with its document, its fields in the order of the protocol', async () => {
  const seeded = (await readSeed('entities')).find((item) => item.end_date !== undefined);
  const { json, code } = await client.call(entity, 'Entity', { id: String(seeded?.id) });
  expect(code).toBe(status.OK);
  expect(Object.keys(json)).toEqual(['entity', 'iidDocument']);
  expect(json.entity).toEqual(seeded);
  expect(Object.keys(json.entity as JsonObject)).toEqual(
    'id type start_date end_date status relayer_node credentials entity_verified metadata accounts'.split(' '),
  );
  const document = json.iidDocument as JsonObject;
  expect(Object.keys(document)).toEqual(
    'context id controller verificationMethod service authentication assertionMethod keyAgreement capabilityInvocation capabilityDelegation linkedResource linkedClaim accordedRight linkedEntity alsoKnownAs metadata'.split(
      ' ',
    ),
  );
  expect(document.id).toBe(seeded?.id);
  expect(document.linkedResource).toEqual(
    expect.arrayContaining([expect.objectContaining({ type: 'Settings', mediaType: 'application/ld+json' })]),
  );
});

test('the other views of an entity show its parts', async () => {
  const seeded = await first('entities');
  const id = String(seeded.id);
  const whole = (await client.call(entity, 'Entity', { id })).json;
  expect((await client.call(entity, 'EntityMetaData', { id })).json).toEqual({ entity: whole.entity });
  expect((await client.call(entity, 'EntityIidDocument', { id })).json).toEqual({ iidDocument: whole.iidDocument });
  expect((await client.call(entity, 'EntityVerified', { id })).json).toEqual({ entity_verified: true });
});

test('parameters of every module', async () => {
  const params = JSON.parse(await readFile(new URL('../seed/params.json', import.meta.url), 'utf8'));
  expect((await client.call(token, 'Params')).json).toEqual({ params: { ixo1155_contract_code: '25' } });
  expect((await client.call(entity, 'Params')).json).toEqual({
    params: { ...params.entity, createSequence: String(params.entity.createSequence) },
  });
  expect((await client.call(claims, 'Params')).json).toMatchObject({
    params: { network_fee_percentage: '10000000000000000000', node_fee_percentage: '10500000000000000000' },
  });
});

test('claims, collections, disputes and intents are found by their keys', async () => {
  const claim = await first('claims');
  const { json } = await client.call(claims, 'Claim', { id: String(claim.claim_id) });
  expect(json.claim).toMatchObject(claim);
  expect(Object.keys(json.claim as JsonObject).slice(0, 9)).toEqual(
    'collection_id agent_did agent_address submission_date claim_id evaluation payments_status use_intent amount'.split(
      ' ',
    ),
  );
  const collection = (await client.call(claims, 'Collection', { id: '1' })).json.collection;
  expect(collection).toMatchObject({ id: '1', count: '18', state: 'OPEN', intents: 'ALLOW' });
  const dispute = await first('disputes');
  const { proof } = dispute.data as JsonObject;
  expect((await client.call(claims, 'Dispute', { proof: String(proof) })).json.dispute).toMatchObject(dispute);
  const intent = await first('intents');
  const asked = { id: String(intent.id), agentAddress: String(intent.agent_address), collectionId: '1' };
  expect((await client.call(claims, 'Intent', asked)).json.intent).toMatchObject(intent);
});

test('the answers have the fields of the released chain', async () => {
  const { collection } = (await client.call(claims, 'Collection', { id: '1' })).json;
  expect(Object.keys(collection as JsonObject).slice(18)).toEqual(
    'flagged flagged_active service_agent_deposit_required evaluator_deposit_required dispute_deposit_amount penalty_amount_per_dispute disputes_open disputes_awarded disputes_dismissed min_deposit_period adjudicators'.split(
      ' ',
    ),
  );
  const flagged = (await readSeed('claims')).find((item) => item.evaluation_history !== undefined);
  const { claim } = (await client.call(claims, 'Claim', { id: String(flagged?.claim_id) })).json;
  expect(Object.keys(claim as JsonObject).slice(-2)).toEqual(['member_address', 'evaluation_history']);
  expect((claim as JsonObject).evaluation_history).toMatchObject([{ status: 'FLAGGED' }]);
});

test('budgets and deposits are found by collection and address, disputes by subject and role', async () => {
  const budget = await first('member-budgets');
  const member = { collectionId: String(budget.collection_id), memberAddress: String(budget.member_address) };
  expect((await client.call(claims, 'CollectionMember', member)).json.member_budget).toMatchObject(budget);
  const members = (await client.call(claims, 'CollectionMemberList', { collectionId: '3' })).json;
  expect(members).toMatchObject({ member_budgets: { length: 2 }, pagination: { total: '2' } });
  const deposit = await first('agent-deposits');
  const agent = { collectionId: String(deposit.collection_id), agentAddress: String(deposit.agent_address) };
  expect((await client.call(claims, 'AgentDepositBalance', agent)).json).toEqual({ balance: deposit });
  const page = { collectionId: '1', pagination: { limit: '1' } };
  const { json: deposits } = await client.call(claims, 'AgentDepositBalanceList', page);
  expect(deposits).toMatchObject({ balances: [deposit] });
  expect(Buffer.from(String((deposits.pagination as JsonObject).next_key), 'base64').toString()).toMatch(/^ixo1/);
  expect((await client.call(claims, 'AgentDepositBalanceList', { collectionId: '3' })).json.balances).toEqual([]);
  const dispute = await first('disputes');
  const subject = { subjectId: String(dispute.subject_id) };
  const byRole = await client.call(claims, 'DisputeBySubject', {
    ...subject,
    targetRole: 'DISPUTE_TARGET_ROLE_SUBMITTER',
  });
  expect(byRole.json.dispute).toMatchObject(dispute);
  expect((await client.call(claims, 'DisputeListForSubject', subject)).json.disputes).toMatchObject([dispute]);
  expect((await client.call(claims, 'DisputeListForSubject', { subjectId: 'x' })).json).toEqual({ disputes: [] });
});

test('the total supply is the sum of all balances of each denomination', async () => {
  const sums = new Map<string, bigint>();
  for (const { address } of await readSeed('balances')) {
    const { json } = await client.call(bank, 'AllBalances', { address: String(address) });
    for (const { denom, amount } of json.balances as { denom: string; amount: string }[])
      sums.set(denom, (sums.get(denom) ?? 0n) + BigInt(amount));
  }
  expect(sums.size).toBeGreaterThan(0);
  const { json } = await client.call(bank, 'TotalSupply');
  const supply = json.supply as { denom: string; amount: string }[];
  expect(new Map(supply.map(({ denom, amount }) => [denom, BigInt(amount)]))).toEqual(sums);
});

test('a token id gets the data of its own and of the token of its name', async () => {
  const properties = await first('token-properties');
  const [seeded] = (await readSeed('tokens')).filter(({ name }) => name === properties.name);
  expect((await client.call(token, 'TokenMetadata', { id: String(properties.id) })).json).toEqual({
    name: seeded?.name,
    description: seeded?.description,
    decimals: '0',
    image: seeded?.image,
    index: properties.index,
    properties: {
      class: seeded?.class,
      collection: properties.collection,
      cap: seeded?.cap,
      linkedResources: properties.tokenData,
    },
  });
  const asked = { minter: String(seeded?.minter), contract_address: String(seeded?.contract_address) };
  expect((await client.call(token, 'TokenDoc', asked)).json).toEqual({ tokenDoc: seeded });
});

test('balances of an account, of one denomination, and of an account that has none', async () => {
  const { address, coins } = await first('balances');
  const listed = (await client.call(bank, 'AllBalances', { address: String(address) })).json;
  expect(listed).toEqual({ balances: coins, pagination: { next_key: '', total: '2' } });
  const one = await client.call(bank, 'Balance', { address: String(address), denom: 'uixo' });
  expect(one.json).toEqual({ balance: { denom: 'uixo', amount: '38500000' } });
  const none = await client.call(bank, 'Balance', { address: String(address), denom: 'unknown' });
  expect(none.json).toEqual({ balance: { denom: 'unknown', amount: '0' } });
  expect((await client.call(bank, 'AllBalances', { address: 'ixo1nobody' })).json).toEqual({
    balances: [],
    pagination: { next_key: '', total: '0' },
  });
});

const lists = [
  { service: entity, method: 'EntityList', field: 'entities', seed: 'entities', key: 'id', extra: 1 },
  { service: iid, method: 'IidDocuments', field: 'iidDocuments', seed: 'iid-documents', key: 'id', extra: 2 },
  { service: claims, method: 'CollectionList', field: 'collections', seed: 'collections', key: 'id', extra: 0 },
  { service: claims, method: 'ClaimList', field: 'claims', seed: 'claims', key: 'claim_id', extra: 0 },
  { service: claims, method: 'DisputeList', field: 'disputes', seed: 'disputes', key: 'subject_id', extra: 0 },
  { service: claims, method: 'IntentList', field: 'intents', seed: 'intents', key: 'id', extra: 0 },
];

test.each(lists)(
  '$method gives everything, page by page, forth and back',
  async ({ service, method, field, seed, key, extra }) => {
    const seeded = (await readSeed(seed)).map((item) => String(item[key]));
    const whole = (await client.call(service, method)).json;
    const keys = (whole[field] as JsonObject[]).map((item) => String(item[key]));
    // `extra` are the agent's own, which come from agent.json.
    expect(keys).toHaveLength(seeded.length + extra);
    expect(keys).toEqual(expect.arrayContaining(seeded));
    expect(whole.pagination).toEqual({ next_key: '', total: String(keys.length) });

    for (const reverse of [false, true]) {
      const walked: string[] = [];
      let next: string | undefined;
      do {
        const pagination = { limit: '2', reverse, ...(next !== undefined && { key: next }) };
        const page: JsonObject = (await client.call(service, method, { pagination })).json;
        walked.push(...(page[field] as JsonObject[]).map((item) => String(item[key])));
        next = String((page.pagination as JsonObject).next_key);
      } while (next !== '');
      expect(walked).toEqual(reverse ? keys.toReversed() : keys);
    }
  },
);

test('lists are in the order of their keys; tokens are those of the minter', async () => {
  const listed = (await client.call(entity, 'EntityList')).json.entities as JsonObject[];
  const ids = listed.map(({ id }) => String(id));
  expect(ids).toEqual(ids.toSorted(byBytes));
  const { minter } = await first('tokens');
  const tokens = (await client.call(token, 'TokenList', { minter: String(minter) })).json;
  expect((tokens.tokenDocs as JsonObject[]).map(({ name }) => name).toSorted()).toEqual(['UMOJA-COOK', 'UMOJA-TREES']);
  expect((await client.call(token, 'TokenList', { minter: 'ixo1nobody' })).json.tokenDocs).toEqual([]);
});

test('a document of a DID that is no entity is found by the DID route alone', async () => {
  const person = (await readSeed('iid-documents')).find(({ id }) => String(id).startsWith('did:x:'));
  const id = String(person?.id);
  expect((await client.call(iid, 'IidDocument', { id })).json).toMatchObject({ iidDocument: { id } });
  expect(await client.call(entity, 'Entity', { id })).toMatchObject({
    code: status.NOT_FOUND,
    details: 'entity not found',
  });
});

test.each([
  [entity, 'Entity', { id: '' }, 'INVALID_ARGUMENT', 'invalid request'],
  [entity, 'Entity', { id: 'did:x:none' }, 'NOT_FOUND', 'did document not found'],
  [entity, 'EntityMetaData', { id: '' }, 'INVALID_ARGUMENT', 'invalid request'],
  [entity, 'EntityIidDocument', { id: 'did:x:none' }, 'NOT_FOUND', 'did document not found'],
  [entity, 'EntityVerified', { id: 'did:x:none' }, 'NOT_FOUND', 'did document not found'],
  [iid, 'IidDocument', { id: '' }, 'INVALID_ARGUMENT', 'iid Doc id cannot be empty'],
  [iid, 'IidDocument', { id: 'did:x:none' }, 'NOT_FOUND', 'did document not found'],
  [claims, 'Claim', { id: '' }, 'INVALID_ARGUMENT', 'invalid request'],
  [claims, 'Claim', { id: 'bafy é %' }, 'UNKNOWN', 'codespace claims code 1100: claim not found: for bafy é %'],
  [claims, 'Collection', { id: '99' }, 'UNKNOWN', 'codespace claims code 1001: collection not found: for 99'],
  [claims, 'Collection', { id: '' }, 'INVALID_ARGUMENT', 'invalid request'],
  [claims, 'Dispute', { proof: 'x' }, 'UNKNOWN', 'codespace claims code 1200: dispute not found: for proof x'],
  [claims, 'Dispute', { proof: '' }, 'INVALID_ARGUMENT', 'invalid request'],
  [claims, 'Intent', { id: '1' }, 'INVALID_ARGUMENT', 'invalid request'],
  [
    claims,
    'Intent',
    { id: '1', agentAddress: 'a', collectionId: '1' },
    'UNKNOWN',
    'codespace claims code 1500: intent not found: for id 1',
  ],
  [claims, 'CollectionMember', { collectionId: '1' }, 'INVALID_ARGUMENT', 'invalid request'],
  [
    claims,
    'CollectionMember',
    { collectionId: '1', memberAddress: 'a' },
    'UNKNOWN',
    'codespace claims code 1800: member budget not found: for collection 1 member a',
  ],
  [claims, 'CollectionMemberList', {}, 'INVALID_ARGUMENT', 'invalid request'],
  [claims, 'DisputeBySubject', {}, 'INVALID_ARGUMENT', 'invalid request'],
  [
    claims,
    'DisputeBySubject',
    { subjectId: 'x' },
    'UNKNOWN',
    /^codespace claims code 1910: no dispute found .*: subject x role DISPUTE_TARGET_ROLE_UNSPECIFIED$/,
  ],
  [claims, 'DisputeListForSubject', {}, 'INVALID_ARGUMENT', 'invalid request'],
  [claims, 'AgentDepositBalance', { collectionId: '1' }, 'INVALID_ARGUMENT', 'invalid request'],
  [
    claims,
    'AgentDepositBalance',
    { collectionId: '1', agentAddress: 'a' },
    'UNKNOWN',
    'codespace claims code 1901: agent performance-deposit balance not found: for collection 1 agent a',
  ],
  [claims, 'AgentDepositBalanceList', {}, 'INVALID_ARGUMENT', 'invalid request'],
  [token, 'TokenMetadata', { id: '' }, 'INVALID_ARGUMENT', 'invalid request'],
  [
    token,
    'TokenMetadata',
    { id: 'x' },
    'UNKNOWN',
    /^codespace token code 1002: .*: token properties not found for x: no TokenProperties for token x$/,
  ],
  [token, 'TokenList', {}, 'INVALID_ARGUMENT', 'invalid request'],
  [
    token,
    'TokenDoc',
    { minter: 'a', contract_address: 'b' },
    'UNKNOWN',
    /^codespace token code 1001: token not found: .* minter a and contract address b$/,
  ],
  [token, 'TokenDoc', { minter: 'a' }, 'INVALID_ARGUMENT', 'invalid request'],
  [bank, 'AllBalances', {}, 'INVALID_ARGUMENT', /empty address/],
  [bank, 'Balance', {}, 'INVALID_ARGUMENT', /empty address/],
  [bank, 'Balance', { address: 'a' }, 'INVALID_ARGUMENT', 'invalid denom'],
  [nodeService, 'GetBlockByHeight', { height: '0' }, 'INVALID_ARGUMENT', /greater than 0/],
  [nodeService, 'GetBlockByHeight', { height: '9999999999' }, 'INVALID_ARGUMENT', /chain length/],
  [claims, 'ClaimList', { pagination: { key: 'YQ==', offset: '1' } }, 'INVALID_ARGUMENT', /either offset or key/],
] as const)('%s/%s %j is refused: %s', async (service, method, request, code, message) => {
  const outcome = await client.call(service, method, request);
  expect(outcome.code).toBe(status[code]);
  if (typeof message === 'string') expect(outcome.details).toBe(message);
  else expect(outcome.details).toMatch(message);
});

test('answers and errors carry the height, which grows with the clock', async () => {
  const before = node.latestHeight();
  expect((await client.call(token, 'Params')).header['x-cosmos-block-height']).toBe(String(before));
  const missing = await client.call(claims, 'Claim', { id: 'x' });
  expect(missing.header['x-cosmos-block-height']).toBe(String(before));
  now += 15_000;
  expect((await client.call(token, 'Params')).header['x-cosmos-block-height']).toBe(String(before + 3));
});

test.each([
  ['7', 'OK', '7'],
  ['+7', 'OK', '7'],
  ['0', 'OK', 'latest'],
  ['-1', 'INVALID_ARGUMENT', 'height < 0'],
  ['99999999999', 'INVALID_ARGUMENT', 'height in the future'],
  ['9223372036854775808999', 'INVALID_ARGUMENT', 'invalid height header'],
  ['seven', 'INVALID_ARGUMENT', 'invalid height header'],
  ['7.5', 'INVALID_ARGUMENT', 'invalid height header'],
  ['7, 8', 'INVALID_ARGUMENT', 'invalid height header'],
] as const)('a request at height %s is %s', async (height, code, expected) => {
  const outcome = await client.call(token, 'Params', {}, { 'x-cosmos-block-height': height });
  expect(outcome.code).toBe(status[code]);
  if (code !== 'OK') expect(outcome.details).toContain(expected);
  else {
    const shown = expected === 'latest' ? String(node.latestHeight()) : expected;
    expect(outcome.header['x-cosmos-block-height']).toBe(shown);
  }
});

test('the node reports its identity and height; a block links to the one before it', async () => {
  const latest = (await client.call(nodeService, 'GetLatestBlock')).json;
  const block = latest.block as { header: JsonObject };
  expect(block.header).toMatchObject({ chain_id: 'palaver-dev-1', height: String(node.latestHeight()) });
  expect((latest.sdk_block as JsonObject).header).toMatchObject({
    height: block.header.height,
    time: block.header.time,
  });
  const height = String(node.latestHeight() - 1);
  const previous = (await client.call(nodeService, 'GetBlockByHeight', { height })).json;
  expect(previous.block_id).toEqual(block.header.last_block_id);
  expect((await client.call(nodeService, 'GetSyncing')).json).toEqual({ syncing: false });
  expect((await client.call(nodeService, 'GetNodeInfo')).json).toMatchObject({
    default_node_info: { network: 'palaver-dev-1' },
  });
});
