import { inspect } from 'node:util';
import * as ucanto from '@ucanto/principal/ed25519';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../test/tokens.ts';
import { createSigner, deriveSigner, parseSigner } from './signer.ts';

const payload = new TextEncoder().encode('payload');

describe('signer', () => {
  it('comes back from its secret', async () => {
    const signer = await createSigner();
    const copy = unwrap(await parseSigner(signer.toSecret()));
    expect(copy.did()).toBe(signer.did());
    expect(await copy.sign(payload)).toEqual(await signer.sign(payload));
  });

  it('shares its secret form, its DID and its signatures with ucanto', async () => {
    const theirs = await ucanto.generate();
    const ours = unwrap(await parseSigner(ucanto.format(theirs)));
    expect(ours.did()).toBe(theirs.did());
    expect(ours.toSecret()).toBe(ucanto.format(theirs));
    expect(ours.toSecret()).toMatch(/^Mg/);
    expect(new Uint8Array(await ours.sign(payload))).toEqual(new Uint8Array(await theirs.sign(payload)));
  });

  it('reads a seed as hex digits', async () => {
    // RFC 8032, section 7.1, test 1.
    const seed = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60';
    const signer = unwrap(await parseSigner(seed));
    expect(signer.did()).toBe(
      ucanto.Verifier.decode(
        Buffer.from(`ed01d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a`, 'hex'),
      ).did(),
    );
    expect(unwrap(await parseSigner(seed.toUpperCase())).did()).toBe(signer.did());
  });

  it('refuses what is not a key, or a key of mixed halves', async () => {
    const [one, other] = [await createSigner(), await createSigner()];
    const bytes = Buffer.from(one.toSecret().slice(1), 'base64');
    Buffer.from(other.toSecret().slice(1), 'base64').copy(bytes, 36, 36);
    const mixed = `M${bytes.toString('base64')}`;
    for (const secret of [
      '',
      'secret',
      'ab'.repeat(31),
      `${one.toSecret()}AAAA`,
      one.did(),
      mixed,
      'M'.repeat(10_000),
    ]) {
      expect((await parseSigner(secret)).error?.message, secret).toBeTypeOf('string');
    }
  });

  it('shows nothing of its secret when logged', async () => {
    const signer = await createSigner();
    expect(inspect(signer, { depth: 9, showHidden: true }) + JSON.stringify(signer)).not.toContain(
      signer.toSecret().slice(4, 40),
    );
  });

  it('signs in the name of another DID', async () => {
    const signer = await createSigner();
    const agent = signer.withDid('did:ixo:entity:abc');
    expect(agent.did()).toBe('did:ixo:entity:abc');
    expect(await agent.sign(payload)).toEqual(await signer.sign(payload));
  });
});

describe('a derived signer', () => {
  const secret = new Uint8Array(32).fill(7);

  it('is the same for the same secret and label, for ever', async () => {
    const signer = await deriveSigner({ secret, label: '+254700000001' });
    // A change of this value means that every phone loses its identity.
    expect(signer.did()).toBe('did:key:z6Mkqq18s2obu7NjS4GSomDMSkrgLJ8sXhYcT7bzGNewJdxp');
    expect((await deriveSigner({ secret, label: '+254700000001' })).toSecret()).toBe(signer.toSecret());
  });

  it('differs by label and by secret', async () => {
    const dids = await Promise.all([
      deriveSigner({ secret, label: '+254700000001' }),
      deriveSigner({ secret, label: '+254700000002' }),
      deriveSigner({ secret: new Uint8Array(32).fill(8), label: '+254700000001' }),
    ]);
    expect(new Set(dids.map((signer) => signer.did())).size).toBe(3);
  });

  it('wants a secret worth the name', async () => {
    await expect(deriveSigner({ secret: new Uint8Array(15), label: 'x' })).rejects.toThrow(RangeError);
  });
});
