import { assert, asyncProperty, constantFrom, integer, nat, record } from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { encodeBase64 } from '../src/bytes.ts';
import type { Capability } from '../src/capability.ts';
import { createVerifier, type Verdict } from '../src/create-verifier.ts';
import { createDelegation, createInvocation, type DelegationOptions } from '../src/mint.ts';
import type { Signer } from '../src/signer.ts';
import { createSigners, decode, nowSeconds, parse } from './tokens.ts';

// signers[0] owns the resource, each next one gets it from the one before; the last is the agent.
let signers: Signer[];
const signerAt = (index: number): Signer => signers[index] as Signer;

beforeAll(async () => {
  signers = await createSigners(8);
});

function verify(kind: 'invocation' | 'delegation', audience: Signer, token: string): Promise<Verdict> {
  const verifier = createVerifier({ audiences: [audience.did()] });
  return kind === 'invocation' ? verifier.verifyInvocation(token) : verifier.verifyDelegation(token);
}

type Link = Omit<DelegationOptions, 'proofs'>;

/** Mints the links in order, each with the one before as its proof. */
async function mintChain(links: readonly Link[]): Promise<string> {
  let token = '';
  for (const link of links) {
    const proofs = token === '' ? [] : [await parse(token)];
    token = (await createDelegation({ ...link, proofs })).serialized;
  }
  return token;
}

function goodLinks(length: number, resource: string): Link[] {
  return Array.from({ length }, (_, index) => ({
    issuer: signerAt(index),
    audience: signerAt(index + 1).did(),
    capabilities: [{ can: 'oracle/chat/*', with: resource, nb: { room: 'a' } }],
    expiration: nowSeconds() + 600,
  }));
}

describe('a token with one byte changed is refused:', () => {
  async function mint(
    kind: 'invocation' | 'delegation',
    length: number,
  ): Promise<{ bytes: Uint8Array; agent: Signer }> {
    const agent = signerAt(length);
    const links = goodLinks(length, kind === 'invocation' ? 'ixo:oracle' : signerAt(0).did());
    const bytes = decode(await mintChain(links));
    expect(await verify(kind, agent, encodeBase64(bytes))).toHaveProperty('ok');
    return { bytes, agent };
  }

  it.each([
    ['invocation', 1],
    ['invocation', 3],
    ['delegation', 1],
    ['delegation', 3],
  ] as const)('every byte of an %s of %i links', async (kind, length) => {
    const { bytes, agent } = await mint(kind, length);
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = bytes.slice();
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      expect((await verify(kind, agent, encodeBase64(changed))).error?.code, `byte ${at}`).toMatch(/^UCAN_/);
    }
  });

  it('any byte to any value', async () => {
    const { bytes, agent } = await mint('invocation', 2);
    await assert(
      asyncProperty(nat(bytes.length - 1), integer({ min: 1, max: 255 }), async (at, change) => {
        const changed = bytes.slice();
        changed[at] = (changed[at] ?? 0) ^ change;
        expect((await verify('invocation', agent, encodeBase64(changed))).error?.code).toMatch(/^UCAN_/);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a chain with one bad link is refused:', () => {
  const change = (link: Link, fields: Partial<Capability>): Link => ({
    ...link,
    capabilities: link.capabilities.map((capability) => ({ ...capability, ...fields })),
  });
  const faults = {
    expired: (link: Link) => ({ ...link, expiration: nowSeconds() - 31 }),
    early: (link: Link) => ({ ...link, notBefore: nowSeconds() + 60 }),
    reaimed: (link: Link) => ({ ...link, audience: signerAt(7).did() }),
    forged: (link: Link) => ({ ...link, issuer: { ...signerAt(7), did: link.issuer.did } }),
    takenOver: (link: Link) => ({ ...link, issuer: signerAt(7) }),
    widerAbility: (link: Link) => change(link, { can: 'oracle/*' }),
    widestAbility: (link: Link) => change(link, { can: '*' }),
    otherResource: (link: Link) => change(link, { with: 'ixo:other' }),
    otherDid: (link: Link) => change(link, { with: signerAt(7).did() }),
    conditionDropped: (link: Link) => change(link, { nb: {} }),
    conditionChanged: (link: Link) => change(link, { nb: { room: 'b' } }),
  };
  const widening = ['widerAbility', 'widestAbility', 'otherResource', 'conditionDropped', 'conditionChanged'];

  it('whichever link, whatever the fault', async () => {
    const cases = record({
      length: integer({ min: 1, max: 6 }),
      at: nat(5),
      fault: constantFrom(...(Object.keys(faults) as (keyof typeof faults)[])),
      kind: constantFrom('invocation' as const, 'delegation' as const),
    }).map((value) => ({ ...value, at: value.at % value.length }));
    await assert(
      asyncProperty(cases, async ({ length, at, fault, kind }) => {
        const links = goodLinks(length, kind === 'invocation' ? 'ixo:oracle' : signerAt(0).did());
        const agent = signerAt(length);
        expect(await verify(kind, agent, await mintChain(links))).toHaveProperty('ok');
        // What the first link gives is the owner's to choose, and anyone may be the first to open the oracle to a friend.
        const ownersChoice = at === 0 && (widening.includes(fault) || (fault === 'takenOver' && kind === 'invocation'));
        const bad = ownersChoice ? 'expired' : fault;
        const broken = links.map((link, index) => (index === at ? faults[bad](link) : link));
        const { error } = await verify(kind, agent, await mintChain(broken));
        expect(error?.code, `${bad} at ${at} of ${length}`).toMatch(/^UCAN_/);
      }),
      { numRuns: 150 },
    );
  });

  it('a link in the middle left out', async () => {
    const [first, , last] = goodLinks(3, signerAt(0).did());
    const token = await mintChain([first, last] as Link[]);
    expect((await verify('delegation', signerAt(3), token)).error?.code).toBe('UCAN_BAD_PROOF');
  });

  it('a good proof beside a bad one', async () => {
    const capability = { can: 'oracle/chat', with: 'ixo:oracle' };
    const [owner, user, agent] = [signerAt(0), signerAt(1), signerAt(2)];
    const grant = { issuer: owner, audience: user.did(), capabilities: [capability] };
    const good = await parse(await createDelegation(grant));
    const bad = await parse(await createDelegation({ ...grant, expiration: nowSeconds() - 60 }));
    const mint = async (proofs: (typeof good)[]) =>
      (await createInvocation({ issuer: user, audience: agent.did(), capability, proofs })).serialized;
    expect(await verify('invocation', agent, await mint([good]))).toHaveProperty('ok');
    expect((await verify('invocation', agent, await mint([good, bad]))).error?.code).toBe('UCAN_BAD_PROOF');
  });

  it('a proof the issuer’s own resource does not need', async () => {
    const [owner, user, agent] = [signerAt(0), signerAt(1), signerAt(2)];
    const grant = { issuer: owner, audience: user.did(), capabilities: [{ can: 'memory/read', with: owner.did() }] };
    const expired = await parse(await createDelegation({ ...grant, expiration: nowSeconds() - 60 }));
    const capability = { can: 'oracle/chat', with: user.did() };
    const token = await createInvocation({ issuer: user, audience: agent.did(), capability, proofs: [expired] });
    expect((await verify('invocation', agent, token.serialized)).error?.code).toBe('UCAN_BAD_PROOF');
  });
});
