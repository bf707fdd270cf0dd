import { readFile } from 'node:fs/promises';
import type { JsonObject } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { type AgentProfile, parseAgent, toAgentSeed } from './agent-profile.ts';

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
