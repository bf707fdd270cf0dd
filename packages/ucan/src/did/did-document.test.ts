import { base58btc } from '@ucanto/core';
import { describe, expect, it } from 'vitest';
import { listSigningKeys, toDocumentUrl } from './did-document.ts';
import { fromDidKey, toDidKey } from './did-key.ts';

const did = 'did:ixo:user:ana';
const publicKey = new Uint8Array(32).map((_, index) => index + 1);
const tagged = Uint8Array.of(0xed, 0x01, ...publicKey);
const key = toDidKey(publicKey);
const base58 = (bytes: Uint8Array) => base58btc.encode(bytes).slice(1);
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

function keysOf(method: object, relations: object = { authentication: ['#k'] }): readonly string[] | undefined {
  return listSigningKeys({ id: did, verificationMethod: [{ id: `${did}#k`, ...method }], ...relations }, did).ok;
}

describe('the key of a verification method', () => {
  it.each<[string, object]>([
    ['Multikey', { type: 'Multikey', publicKeyMultibase: `z${base58(tagged)}` }],
    ['2020 in base58', { type: 'Ed25519VerificationKey2020', publicKeyMultibase: `z${base58(tagged)}` }],
    ['2018 in base58', { type: 'Ed25519VerificationKey2018', publicKeyBase58: base58(publicKey) }],
    ['2018 as bare multibase', { type: 'Ed25519VerificationKey2018', publicKeyMultibase: `z${base58(publicKey)}` }],
    ['hex', { type: 'Ed25519VerificationKey2018', publicKeyHex: hex(publicKey) }],
    ['multibase hex', { type: 'Ed25519VerificationKey2018', publicKeyMultibase: `F${hex(publicKey).toUpperCase()}` }],
    ['multibase base64', { type: 'Multikey', publicKeyMultibase: `u${Buffer.from(tagged).toString('base64url')}` }],
    [
      'JWK',
      {
        type: 'JsonWebKey2020',
        publicKeyJwk: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey).toString('base64url') },
      },
    ],
    [
      'with the unset fields a chain writes',
      {
        type: 'Ed25519VerificationKey2018',
        publicKeyMultibase: '',
        publicKeyHex: '',
        publicKeyBase58: base58(publicKey),
      },
    ],
  ])('%s', (_, method) => {
    expect(keysOf(method)).toEqual([key]);
  });

  it.each<[string, object]>([
    ['another curve', { type: 'EcdsaSecp256k1VerificationKey2019', publicKeyHex: `02${hex(publicKey)}` }],
    ['32 bytes of another type', { type: 'X25519KeyAgreementKey2019', publicKeyBase58: base58(publicKey) }],
    [
      'another JWK',
      {
        type: 'JsonWebKey2020',
        publicKeyJwk: { kty: 'OKP', crv: 'X25519', x: Buffer.from(publicKey).toString('base64url') },
      },
    ],
    ['a blockchain account', { type: 'CosmosAccountAddress', blockchainAccountID: 'ixo1abc' }],
    ['nonsense', { type: 'Multikey', publicKeyMultibase: 'z0OIl' }],
    ['odd hex', { type: 'Ed25519VerificationKey2018', publicKeyHex: 'abc' }],
    ['an endless text', { type: 'Multikey', publicKeyMultibase: `z${'1'.repeat(10_000)}` }],
    ['a number', { type: 'Multikey', publicKeyMultibase: 7 }],
  ])('not %s', (_, method) => {
    expect(keysOf(method)).toBeUndefined();
  });
});

describe('the keys that may sign', () => {
  const method = { type: 'Multikey', publicKeyMultibase: `z${base58(tagged)}` };

  it.each(['authentication', 'capabilityInvocation', 'capabilityDelegation'])('%s', (relation) => {
    expect(keysOf(method, { [relation]: [`${did}#k`] })).toEqual([key]);
    expect(keysOf({}, { [relation]: [{ id: '#inline', ...method }] })).toEqual([key]);
  });

  it.each(['assertionMethod', 'keyAgreement', 'service'])('not %s', (relation) => {
    expect(keysOf(method, { [relation]: [`${did}#k`] })).toBeUndefined();
  });

  it('not one that is only listed, or listed under another name', () => {
    expect(keysOf(method, {})).toBeUndefined();
    expect(keysOf(method, { authentication: ['did:ixo:user:eve#k', '#other', 7, null] })).toBeUndefined();
  });

  it('each once', () => {
    expect(keysOf(method, { authentication: ['#k', `${did}#k`], capabilityInvocation: ['#k'] })).toEqual([key]);
  });

  it.each([null, 'text', [], {}, { id: 'did:ixo:user:eve' }, { id: did, verificationMethod: 'x', authentication: {} }])(
    'none of %j',
    (document) => {
      expect(listSigningKeys(document, did).error?.message).toBeTypeOf('string');
    },
  );
});

it('a did:key is read only when it is an Ed25519 key', () => {
  expect(fromDidKey(key)).toEqual(publicKey);
  const secp256k1 = `did:key:${base58btc.encode(Uint8Array.of(0xe7, 0x01, 2, ...publicKey))}`;
  for (const other of [
    secp256k1,
    'did:key:z',
    'did:key:abc',
    'did:web:a.b',
    `${key}1`,
    `did:key:z${'1'.repeat(999)}`,
  ]) {
    expect(fromDidKey(other), other).toBeNull();
  }
});

describe('where a did:web has its document', () => {
  it.each([
    ['did:web:example.com', 'https://example.com/.well-known/did.json'],
    ['did:web:example.com%3A8443', 'https://example.com:8443/.well-known/did.json'],
    ['did:web:example.com%3a8443:users:ana', 'https://example.com:8443/users/ana/did.json'],
    ['did:web:Example.COM:Users', 'https://example.com/Users/did.json'],
    ['did:web:localhost', 'https://localhost/.well-known/did.json'],
  ])('%s', (did, url) => {
    expect(toDocumentUrl(did)?.href).toBe(url);
  });

  it.each([
    'did:web:',
    'did:web:127.0.0.1',
    'did:web:2130706433',
    'did:web:0x7f.1',
    'did:web:127.1',
    'did:web:example.com%3A99999',
    'did:web:example.com:..:secret',
    'did:web:example.com:.:x',
    'did:web:example.com::x',
    'did:web:example.com:a%2Fb',
    'did:web:user@example.com',
    'did:web:[::1]',
    'did:web:example.com/x',
    'did:web:example.com%3A',
    'did:web:..',
    'did:web:-',
  ])('not %s', (did) => {
    expect(toDocumentUrl(did)).toBeNull();
  });
});
