import { describe, expect, it } from 'vitest';
import * as chosen from '#crypto';
import * as web from '../web/crypto.ts';
import * as node from './crypto.ts';

const hex = (text: string) => new Uint8Array(Buffer.from(text, 'hex'));
// RFC 8032, section 7.1, test 3.
const seed = hex('c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7');
const publicKey = hex('fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025');
const payload = hex('af82');
const signature = hex(
  '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
);

it('Node runs on its own implementation', () => {
  expect(chosen.verifyEd25519).toBe(node.verifyEd25519);
});

describe.each([
  ['web', web],
  ['node', node],
])('the %s implementation', (_, crypto) => {
  it('signs', async () => {
    const keyPair = await crypto.createKeyPair(seed);
    expect(keyPair.publicKey).toEqual(publicKey);
    expect(await keyPair.sign(payload)).toEqual(signature);
  });

  it('verifies', async () => {
    expect(await crypto.verifyEd25519({ publicKey, payload, signature })).toBe(true);
    expect(await crypto.verifyEd25519({ publicKey, payload: hex('af83'), signature })).toBe(false);
    expect(await crypto.verifyEd25519({ publicKey: seed, payload, signature })).toBe(false);
    expect(await crypto.verifyEd25519({ publicKey, payload, signature: signature.subarray(1) })).toBe(false);
  });

  it('refuses the other signature one could write for the same message', async () => {
    // S + L in place of S passes a verifier that does not check the range of S.
    const order = 2n ** 252n + 27742317777372353535851937790883648493n;
    const little = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
    const shifted = (little(signature.subarray(32)) + order).toString(16).padStart(64, '0');
    const twin = Buffer.concat([signature.subarray(0, 32), Buffer.from(shifted, 'hex').reverse()]);
    expect(await crypto.verifyEd25519({ publicKey, payload, signature: twin })).toBe(false);
  });

  it('hashes', async () => {
    const abc = new TextEncoder().encode('abc');
    const digest = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    expect(new Uint8Array(await crypto.sha256(abc))).toEqual(hex(digest));
    expect(await crypto.hashText('abc')).toBe(Buffer.from(digest, 'hex').toString('base64'));
  });
});
