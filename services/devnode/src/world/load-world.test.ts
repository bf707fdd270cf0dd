import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '@bufbuild/protobuf';
import { createTempDir } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { loadProtocol } from '../protocol.ts';
import { type AgentProfile, loadWorld, parseAgent, toAgentSeed } from './load-world.ts';

/** The message with which a seed of these files is refused; text goes into the file unchanged. */
async function refusal(files: Record<string, unknown>): Promise<string> {
  await using dir = await createTempDir();
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(dir.path, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  const error = await loadWorld({ protocol: await loadProtocol(), seed: dir.path }).then(
    () => undefined,
    (reason: Error) => reason,
  );
  expect(error?.name).toBe('StartError');
  expect(error?.message).toContain(`The seed in ${dir.path} is not valid:`);
  return error?.message ?? '';
}

const claim = { collection_id: '1', claim_id: 'a' };

test.each<[string, Record<string, unknown>, string]>([
  ['no JSON', { 'claims.json': '[{' }, 'claims.json: not JSON: '],
  ['no list', { 'claims.json': {} }, 'claims.json: expected a list'],
  ['no object', { 'claims.json': [7] }, 'claims.json[0]: expected an object'],
  [
    'an unknown field',
    { 'claims.json': [{ ...claim, colour: 'red' }] },
    'claims.json[0].colour: ixo.claims.v1beta1.Claim has no such field',
  ],
  ['a wrong type', { 'claims.json': [{ ...claim, use_intent: 'yes' }] }, 'claims.json[0].use_intent: expected bool'],
  [
    'a bad time',
    { 'claims.json': [claim, { claim_id: 'b', submission_date: 'today' }] },
    'claims.json[1].submission_date: invalid RFC 3339 string',
  ],
  [
    'a bad value deep inside',
    { 'claims.json': [{ ...claim, evaluation: { amount: [{ denom: 'uixo' }, { amount: 7 }] } }] },
    'claims.json[0].evaluation.amount[1].amount: expected string',
  ],
  [
    'an object instead of a list',
    { 'claims.json': [{ ...claim, amount: {} }] },
    'claims.json[0].amount: expected a list',
  ],
  [
    'an unknown enum value',
    { 'claims.json': [{ ...claim, payments_status: { approval: 'MAYBE' } }] },
    'claims.json[0].payments_status.approval: ',
  ],
  [
    'a decimal with a point',
    { 'params.json': { entity: {}, token: {}, claims: { node_fee_percentage: '10.5' } } },
    'params.json.claims.node_fee_percentage: expected a whole number in decimal digits',
  ],
  ['two keys in one oneof', { 'iid-documents.json': [twoKeys()] }, 'iid-documents.json[0].verificationMethod[0]: '],
  [
    'params of a module missing',
    { 'params.json': { entity: {}, claims: {} } },
    'params.json.token: expected an object',
  ],
  ['no params', { 'params.json': 'null' }, 'params.json.entity: expected an object'],
  ['an item twice', { 'claims.json': [claim, claim] }, 'claims.json[1]: a is in the file twice'],
  ['an item without its key', { 'claims.json': [{ collection_id: '1' }] }, 'claims.json[0]: the field it is found by'],
  ['an entity without a document', { 'entities.json': [{ id: 'did:x:a' }] }, 'entities.json: did:x:a has no document'],
  ['a token id without its token', { 'tokens.json': [] }, 'which is not in tokens.json'],
  [
    'a file of another name',
    { 'claim.json': [] },
    'claim.json: no seed file has this name; there are agent-deposits.json, ',
  ],
  ['a bad agent', { 'agent.json': { did: 'me' } }, 'agent.json.did: expected a DID'],
])('%s is reported with file and field', async (_, files, expected) => {
  expect(await refusal(files)).toContain(`\n  ${expected}`.replace('\n  which', 'which'));
});

function twoKeys() {
  return { id: 'did:x:a', verificationMethod: [{ id: 'k', publicKeyHex: 'aa', publicKeyBase58: 'bb' }] };
}

test('all faults of all files are reported together, at most 20 of them', async () => {
  const message = await refusal({
    'claims.json': Array.from({ length: 25 }, () => ({ wrong: 1 })),
    'disputes.json': {},
  });
  expect(message.split('\n')).toHaveLength(22);
  expect(message).toMatch(/\n {2}and \d+ more$/);
});

test('a folder that does not exist is reported', async () => {
  const world = loadWorld({ protocol: await loadProtocol(), seed: '/no/such/folder' });
  await expect(world).rejects.toThrow('The seed in /no/such/folder is not valid:\n  cannot be read: ENOENT');
});

test('a file in the folder replaces the bundled one, the others stay', async () => {
  await using dir = await createTempDir();
  await writeFile(join(dir.path, 'claims.json'), JSON.stringify([claim]));
  await writeFile(join(dir.path, 'README.md'), 'not a seed file');
  const world = await loadWorld({ protocol: await loadProtocol(), seed: dir.path });
  expect(world.claims.rows.map(({ value }) => value.claimId)).toEqual(['a']);
  expect(world.collections.rows).toHaveLength(3);
});

test('a copy of the bundled folder is a good seed', async () => {
  await using dir = await createTempDir();
  await cp(fileURLToPath(new URL('../../seed', import.meta.url)), dir.path, { recursive: true });
  const world = await loadWorld({ protocol: await loadProtocol(), seed: dir.path });
  expect(world.claims.rows).toHaveLength(40);
});

const bundled = JSON.parse(await readFile(new URL('../../seed/agent.json', import.meta.url), 'utf8'));

function parse(changes: Partial<AgentProfile> = {}): AgentProfile {
  const faults: string[] = [];
  const profile = parseAgent(bundled, changes, faults);
  expect(faults).toEqual([]);
  if (!profile) throw new Error('no profile');
  return profile;
}

test('the entity has the services and the config that clients resolve', () => {
  const price = { denom: 'uixo', amount: '250' };
  const { entity, documents } = toAgentSeed(
    parse({ name: 'Ada & co', model: 'm-1', price, apiUrl: 'https://a.example', socketUrl: 'wss://s.example' }),
  );
  expect(entity).toMatchObject({ id: bundled.entityDid, type: 'oracle' });
  const [document] = documents as [JsonObject];
  expect(document.service).toEqual([
    { id: `${bundled.entityDid}#oracleService`, type: 'oracleService', serviceEndpoint: 'https://a.example' },
    { id: `${bundled.entityDid}#wsService`, type: 'wsService', serviceEndpoint: 'wss://s.example' },
  ]);
  const [config] = document.linkedResource as JsonObject[];
  expect(config).toMatchObject({ type: 'oracleConfig', mediaType: 'application/json', encrypted: 'false' });
  const [, text = ''] = String(config?.serviceEndpoint).split('data:application/json,');
  expect(JSON.parse(decodeURIComponent(text))).toEqual({ oracleName: 'Ada & co', model: 'm-1', price });
});

test('fetch understands the config URL', async () => {
  const { documents } = toAgentSeed(parse());
  const [config] = (documents[0] as JsonObject).linkedResource as JsonObject[];
  const reply = await fetch(String(config?.serviceEndpoint));
  expect(reply.headers.get('content-type')).toBe('application/json');
  expect(await reply.json()).toMatchObject({ oracleName: 'Palaver', model: 'offline' });
});

test('the entity and the key are documents of their own with the same key', () => {
  const { documents } = toAgentSeed(parse());
  expect(documents.map(({ id }) => id)).toEqual([bundled.entityDid, bundled.did]);
  for (const { id, verificationMethod, authentication } of documents) {
    const key = bundled.did.slice('did:key:'.length);
    expect(verificationMethod).toEqual([
      { id: `${id}#key-1`, type: 'Ed25519VerificationKey2020', controller: bundled.did, publicKeyMultibase: key },
    ]);
    expect(authentication).toEqual([`${id}#key-1`]);
  }
});

test('a new DID does not inherit the entity or the key of the bundled agent', () => {
  const profile = parse({ did: 'did:key:z6MkNew', entityDid: undefined });
  const { entity, documents } = toAgentSeed(profile);
  expect(entity.id).toBe('did:key:z6MkNew');
  expect(documents).toHaveLength(1);
  expect(JSON.stringify(documents)).toContain('"publicKeyMultibase":"z6MkNew"');
  expect(toAgentSeed(parse({ did: 'did:key:z6MkNew', entityDid: 'did:ixo:entity:e' })).entity.id).toBe(
    'did:ixo:entity:e',
  );
});

test('a DID that is not its key needs the key beside it', () => {
  const faults: string[] = [];
  expect(parseAgent(bundled, { did: 'did:web:agent.example' }, faults)).toBeUndefined();
  expect(faults).toEqual(['agent.json.publicKeyMultibase: needed, because did is not a did:key']);
  expect(parse({ did: 'did:web:agent.example', publicKeyMultibase: 'z6Mk1' }).publicKeyMultibase).toBe('z6Mk1');
});

test.each([
  [{ apiUrl: 'ftp://x' }, 'agent.json.apiUrl'],
  [{ price: { denom: 'uixo', amount: '1.5' } }, 'agent.json.price.amount'],
  [{ name: '' }, 'agent.json.name'],
])('%j is refused', (changes, where) => {
  const faults: string[] = [];
  parseAgent(bundled, changes, faults);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toContain(where);
});
