import { CBOR, UCAN } from '@ucanto/core';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  createSigners,
  decode,
  encodeArchive,
  parse,
  signBlock,
  toArchive,
  toBlock,
  toRawBlock,
} from '../test/tokens.ts';
import { encodeBase64 } from './bytes.ts';
import { createDelegation, createInvocation } from './mint.ts';
import { parseToken } from './parse-token.ts';
import type { Signer } from './signer.ts';

let user: Signer;
let agent: Signer;
let token: string;

beforeAll(async () => {
  [user, agent] = (await createSigners(2)) as [Signer, Signer];
  const capability = { can: 'oracle/chat', with: agent.did(), nb: { room: 'a' } };
  const options = { issuer: user, audience: agent.did(), expiration: 2_000_000_000, notBefore: 1_000_000_000 };
  token = (await createInvocation({ ...options, capability, facts: [{ app: 'test' }] })).serialized;
});

async function codeOf(text: string): Promise<string | undefined> {
  return (await parseToken(text)).error?.code;
}

describe('parseToken', () => {
  it('shows what a token says', async () => {
    expect(await parse(token)).toMatchObject({
      cid: expect.stringMatching(/^bafyrei/),
      issuer: user.did(),
      audience: agent.did(),
      capabilities: [{ can: 'oracle/chat', with: agent.did(), nb: { room: 'a' } }],
      expiration: 2_000_000_000,
      notBefore: 1_000_000_000,
      nonce: expect.stringMatching(/^.{16}$/),
      facts: [{ app: 'test' }],
      proofs: [],
    });
  });

  it('reads base64, base64url and multibase alike', async () => {
    const { cid } = await parse(token);
    const bare = token.replace(/=+$/, '');
    const url = Buffer.from(token, 'base64').toString('base64url');
    for (const text of [token, bare, url, `m${bare}`, `M${token}`, `u${url}`])
      expect((await parse(text)).cid).toBe(cid);
  });

  it('reads DIDs of other methods', async () => {
    const issuer = user.withDid('did:web:example.com:users:ana');
    const minted = await createDelegation({
      issuer,
      audience: 'did:ixo:entity:abc123',
      capabilities: [{ can: 'oracle/*', with: 'ixo:oracle' }],
    });
    expect(await parse(minted)).toMatchObject({ issuer: issuer.did(), audience: 'did:ixo:entity:abc123' });
  });

  it('shows the proofs under a token', async () => {
    const grant = { can: 'oracle/*', with: user.did() };
    const proof = await createDelegation({ issuer: user, audience: agent.did(), capabilities: [grant] });
    const next = await createInvocation({
      issuer: agent,
      audience: user.did(),
      capability: grant,
      proofs: [await parse(proof)],
    });
    expect((await parse(next)).proofs).toMatchObject([{ cid: proof.cid, issuer: user.did() }]);
  });
});

describe('parseToken refuses', () => {
  it.each(['', 'x', 'not a token', 'eyJhbGciOiJFZERTQSJ9.e30.AA', 'M', '='.repeat(10), 'A'.repeat(70_000), '\u0000'])(
    'text that is no archive: %j',
    async (text) => {
      expect(await codeOf(text)).toBe('UCAN_MALFORMED');
    },
  );

  it('whatever is not a string of base64 without quoting it', async () => {
    const { error } = await parseToken('secret-looking text');
    expect(error?.message).not.toContain('secret');
  });

  it('every cut of a token', async () => {
    const bytes = decode(token);
    for (let length = 0; length < bytes.length; length += 1) {
      expect(await codeOf(encodeBase64(bytes.subarray(0, length))), String(length)).toBe('UCAN_MALFORMED');
    }
  });

  it('anything after the last block', async () => {
    for (const extra of [[0], [1], [58], [1, 2, 3], Array(40).fill(0)]) {
      expect(await codeOf(encodeBase64(Uint8Array.of(...decode(token), ...extra)))).toBe('UCAN_MALFORMED');
    }
  });

  it('blocks that do not belong to the token', async () => {
    const [stray, ucan] = [await toBlock({ stray: true }), await signBlock(user, { audience: agent.did() })];
    expect(await codeOf(await toArchive([ucan]))).toBeUndefined();
    expect(await codeOf(await toArchive([stray, ucan]))).toBe('UCAN_MALFORMED');
    const unrelated = await signBlock(agent, { audience: user.did() });
    expect(await codeOf(await toArchive([unrelated, ucan]))).toBe('UCAN_MALFORMED');
  });

  it('a block given twice', async () => {
    const bytes = decode(token);
    // The archive ends with its root block: one byte of length, 36 of CID, 53 of content.
    const root = bytes.subarray(-(1 + 36 + 53));
    expect(root[0]).toBe(36 + 53);
    expect(await codeOf(encodeBase64(Uint8Array.of(...bytes, ...root)))).toBe('UCAN_MALFORMED');
  });

  it('lengths and headers written in another way', async () => {
    const bytes = decode(token);
    const padded = Uint8Array.of(...bytes.subarray(0, -90), 0x80 | 89, 0, ...bytes.subarray(-89));
    expect(await codeOf(encodeBase64(padded))).toBe('UCAN_MALFORMED');
    const header = Uint8Array.of(0x80 | 58, 0, ...bytes.subarray(1));
    expect(await codeOf(encodeBase64(header))).toBe('UCAN_MALFORMED');
    const version2 = Uint8Array.of(0x0a, 0xa1, 0x67, ...new TextEncoder().encode('version'), 0x02, ...bytes);
    expect(await codeOf(encodeBase64(version2))).toBe('UCAN_MALFORMED');
  });

  it('an archive without its root, with two, or of another kind', async () => {
    const ucan = await signBlock(user, { audience: agent.did() });
    const root = await toBlock({ 'ucan@0.9.1': ucan.cid });
    expect(await codeOf(encodeArchive(root, [ucan, root]))).toBeUndefined();
    expect(await codeOf(encodeArchive(ucan, [ucan]))).toBe('UCAN_MALFORMED');
    expect(await codeOf(encodeArchive(root, [root]))).toBe('UCAN_MALFORMED');
    expect(await codeOf(await toArchive([ucan], 'ucan@0.9.2'))).toBe('UCAN_MALFORMED');
    expect(await codeOf(encodeArchive(await toBlock({ 'ucan@0.9.1': ucan.cid, more: 1 }), [ucan]))).toBe(
      'UCAN_MALFORMED',
    );
  });

  it('a block under a CID that is not its hash', async () => {
    const { bytes } = await signBlock(user, { audience: agent.did() });
    const { cid } = await toBlock('something else');
    expect(await codeOf(await toArchive([{ bytes, cid }]))).toBe('UCAN_MALFORMED');
  });

  it('a proof that is named but missing', async () => {
    const proof = await signBlock(user, { audience: agent.did() });
    const next = await signBlock(agent, { audience: user.did(), prf: [proof.cid as never] });
    expect(await codeOf(await toArchive([proof, next]))).toBeUndefined();
    expect(await codeOf(await toArchive([next]))).toBe('UCAN_BAD_PROOF');
  });

  it('a proof named twice', async () => {
    const proof = await signBlock(user, { audience: agent.did() });
    const prf = [proof.cid, proof.cid] as never;
    expect(await codeOf(await toArchive([proof, await signBlock(agent, { audience: user.did(), prf })]))).toBe(
      'UCAN_MALFORMED',
    );
  });

  it('a UCAN written as a JWT inside an archive', async () => {
    const ucan = await UCAN.issue({
      issuer: user,
      audience: agent,
      capabilities: [{ can: 'oracle/chat', with: 'ixo:oracle' }],
      lifetimeInSeconds: 300,
    });
    const block = await toRawBlock(new TextEncoder().encode(UCAN.format(ucan)));
    expect(await codeOf(await toArchive([block]))).toBe('UCAN_MALFORMED');
  });
});

// One signature must not fit two blocks: the second would be the same token under a CID nobody has revoked.
describe('parseToken refuses another encoding of a signed token:', () => {
  const att = [{ can: 'oracle/chat', with: 'ixo:oracle' }] as const;

  it.each<[string, (model: Record<string, unknown>) => Record<string, unknown>]>([
    ['upper case in an ability', (model) => ({ ...model, att: [{ ...att[0], can: 'Oracle/chat' }] })],
    ['an empty list of facts', (model) => ({ ...model, fct: [] })],
    ['no list of proofs', ({ prf, ...model }) => model],
    ['an empty nonce', (model) => ({ ...model, nnc: '' })],
    ['a start at zero', (model) => ({ ...model, nbf: 0 })],
    ['an unknown field', (model) => ({ ...model, extra: 1 })],
    ['another version', (model) => ({ ...model, v: '0.9.1-x' })],
    ['bytes after the signature', (model) => ({ ...model, s: Uint8Array.of(...(model.s as Uint8Array), 0) })],
    [
      'a padded length in the signature',
      ({ s, ...model }) => ({
        ...model,
        s: Uint8Array.of(0xed, 0xa1, 0x03, 0xc0, 0x00, ...(s as Uint8Array).subarray(4)),
      }),
    ],
    [
      'a did:key spelled out',
      (model) => ({ ...model, iss: Uint8Array.of(0x9d, 0x1a, ...new TextEncoder().encode(user.did().slice(4))) }),
    ],
    ['bytes after the key', (model) => ({ ...model, aud: Uint8Array.of(...(model.aud as Uint8Array), 0) })],
    ['a capability with an unknown field', (model) => ({ ...model, att: [{ ...att[0], extra: 1 }] })],
    ['no capability', (model) => ({ ...model, att: [] })],
    ['conditions that are no object', (model) => ({ ...model, att: [{ ...att[0], nb: [1] }] })],
    ['a fact written like a link', (model) => ({ ...model, fct: [{ '/': 'bafy' }] })],
    ['a number beyond JSON', (model) => ({ ...model, fct: [{ a: 2n ** 60n }] })],
    ['a time beyond JSON', (model) => ({ ...model, exp: 1e19 })],
    [
      'an audience that is not a DID',
      (model) => ({ ...model, aud: Uint8Array.of(0x9d, 0x1a, ...Buffer.from('no did')) }),
    ],
    ['another kind of key', (model) => ({ ...model, aud: Uint8Array.of(0xe7, 0x01, ...new Uint8Array(33)) })],
  ])('%s', async (_, rewrite) => {
    const fields = { audience: agent.did(), att: [...att] as never };
    expect(await codeOf(await toArchive([await signBlock(user, fields)]))).toBeUndefined();
    expect(await codeOf(await toArchive([await signBlock(user, fields, rewrite)]))).toBe('UCAN_MALFORMED');
  });

  it('a field that JavaScript takes for something else', async () => {
    const { bytes } = await signBlock(user, { audience: agent.did(), fct: [{ __prot0__: { admin: true } }] });
    expect(await codeOf(await toArchive([await toRawBlock(bytes)]))).toBeUndefined();
    const text = Buffer.from(bytes).toString('latin1').replace('__prot0__', '__proto__');
    const changed = new Uint8Array(Buffer.from(text, 'latin1'));
    expect(await codeOf(await toArchive([await toRawBlock(changed)]))).toBe('UCAN_MALFORMED');
  });

  it('another order of keys', async () => {
    const { bytes } = await signBlock(user, { audience: agent.did() });
    const model = CBOR.decode(bytes as never) as Record<string, unknown>;
    const parts = Object.entries(model).map(([key, value]) => [CBOR.encode(key), CBOR.encode(value)] as const);
    const write = (entries: typeof parts) => Buffer.concat([Uint8Array.of(0xa0 | parts.length), ...entries.flat()]);
    expect(await codeOf(await toArchive([await toRawBlock(new Uint8Array(write(parts)))]))).toBeUndefined();
    expect(await codeOf(await toArchive([await toRawBlock(new Uint8Array(write(parts.reverse())))]))).toBe(
      'UCAN_MALFORMED',
    );
  });
});

describe('parseToken keeps to its limits:', () => {
  const grant = { can: 'oracle/chat', with: 'ixo:oracle' };

  async function chain(length: number): Promise<string> {
    const blocks = [await signBlock(user, { audience: user.did() })];
    while (blocks.length < length) {
      blocks.push(await signBlock(user, { audience: user.did(), prf: [blocks.at(-1)?.cid] as never }));
    }
    return await toArchive(blocks);
  }

  async function fan(proofs: number): Promise<string> {
    const blocks = await Promise.all(
      Array.from({ length: proofs }, (_, index) => signBlock(user, { audience: user.did(), nnc: String(index + 1) })),
    );
    const groups = [blocks.slice(0, 12), blocks.slice(12)].filter((group) => group.length > 0);
    const middle = await Promise.all(
      groups.map((group) => signBlock(user, { audience: user.did(), prf: group.map(({ cid }) => cid) as never })),
    );
    const root = await signBlock(user, { audience: agent.did(), prf: middle.map(({ cid }) => cid) as never });
    return await toArchive([...blocks, ...middle, root]);
  }

  it('chains of eight', async () => {
    expect(await codeOf(await chain(8))).toBeUndefined();
    expect(await codeOf(await chain(9))).toBe('UCAN_MALFORMED');
  });

  it('twenty UCANs', async () => {
    expect(await codeOf(await fan(17))).toBeUndefined();
    expect(await codeOf(await fan(18))).toBe('UCAN_MALFORMED');
  });

  it('32 capabilities', async () => {
    const mint = (count: number) =>
      createDelegation({ issuer: user, audience: agent.did(), capabilities: Array(count).fill(grant) });
    expect(await codeOf((await mint(32)).serialized)).toBeUndefined();
    expect(await codeOf((await mint(33)).serialized)).toBe('UCAN_MALFORMED');
  });

  it('values 16 deep, and no overflow far beyond', async () => {
    const nest = (depth: number): unknown => (depth === 0 ? 1 : [nest(depth - 1)]);
    const mint = (depth: number) => signBlock(user, { audience: agent.did(), fct: [{ deep: nest(depth) }] });
    expect(await codeOf(await toArchive([await mint(14)]))).toBeUndefined();
    expect(await codeOf(await toArchive([await mint(15)]))).toBe('UCAN_MALFORMED');
    const abyss = await toRawBlock(new Uint8Array(40_000).fill(0x81));
    expect(await codeOf(await toArchive([abyss]))).toBe('UCAN_MALFORMED');
  });

  it('1,500 values in all blocks together, in whatever form', async () => {
    const small = Array.from({ length: 800 }, () => ({}));
    const wide = Object.fromEntries(Array.from({ length: 700 }, (_, at) => [`k${at}`, 1]));
    for (const [fits, over] of [
      [[{ a: small }], [{ a: [...small, ...small] }]],
      [[wide], [wide, { more: wide }]],
    ] as never[][]) {
      expect(
        await codeOf(await toArchive([await signBlock(user, { audience: agent.did(), fct: fits as never })])),
      ).toBeUndefined();
      expect(
        await codeOf(await toArchive([await signBlock(user, { audience: agent.did(), fct: over as never })])),
      ).toBe('UCAN_MALFORMED');
    }
    const proofs = await Promise.all(
      Array.from({ length: 3 }, (_, at) =>
        signBlock(user, { audience: user.did(), nnc: `${at + 1}`, fct: [{ a: small.slice(0, 600) }] as never }),
      ),
    );
    const prf = proofs.map(({ cid }) => cid) as never;
    expect(await codeOf(await toArchive([...proofs, await signBlock(user, { audience: agent.did(), prf })]))).toBe(
      'UCAN_MALFORMED',
    );
    const declared = await toRawBlock(Uint8Array.of(0xa1, 0x61, 0x61, 0x9a, 0xff, 0xff, 0xff, 0xff));
    expect(await codeOf(await toArchive([declared]))).toBe('UCAN_MALFORMED');
  });

  it('128 capabilities with those of its proofs', async () => {
    const mint = async (count: number, nonces = ['1', '2', '3']) => {
      const att = Array.from({ length: count }, (_, at) => ({ can: 'oracle/chat', with: `ixo:${at}` })) as never;
      const proofs = await Promise.all(nonces.map((nnc) => signBlock(user, { audience: user.did(), nnc, att })));
      const prf = proofs.map(({ cid }) => cid) as never;
      return toArchive([...proofs, await signBlock(user, { audience: agent.did(), prf, att })]);
    };
    expect(await codeOf(await mint(32))).toBeUndefined();
    expect(await codeOf(await mint(32, ['1', '2', '3', '4']))).toBe('UCAN_MALFORMED');
  });

  it('64 KiB of text', async () => {
    const mint = (length: number) => signBlock(user, { audience: agent.did(), fct: [{ pad: 'x'.repeat(length) }] });
    expect(await codeOf(await toArchive([await mint(48_000)]))).toBeUndefined();
    expect(await codeOf(await toArchive([await mint(49_200)]))).toBe('UCAN_MALFORMED');
  });
});
