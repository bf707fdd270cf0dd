import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSigners, decode, nowSeconds, parse, signBlock, toArchive, unwrap } from '../test/tokens.ts';
import { createVerifier, type Verifier, type VerifierOptions } from './create-verifier.ts';
import { createDelegation, createInvocation, type InvocationOptions } from './mint.ts';
import type { UcanErrorCode } from './result.ts';
import type { Signer } from './signer.ts';

const entity = 'did:ixo:entity:agent';
let user: Signer;
let friend: Signer;
let agent: Signer;
let clock: number;
let verifier: Verifier;

beforeAll(async () => {
  [user, friend, agent] = (await createSigners(3)) as [Signer, Signer, Signer];
});

beforeEach(() => {
  clock = Date.now();
  verifier = setUp();
});

function setUp(options: Partial<VerifierOptions> = {}): Verifier {
  return createVerifier({ audiences: [agent.did(), entity], now: () => clock, ...options });
}

async function invoke(options: Partial<InvocationOptions> = {}): Promise<string> {
  const capability = { can: 'oracle/chat', with: agent.did() };
  return (await createInvocation({ issuer: user, audience: agent.did(), capability, ...options })).serialized;
}

async function delegate(options: Partial<Parameters<typeof createDelegation>[0]> = {}): Promise<string> {
  const capabilities = [{ can: 'memory/*', with: user.did() }];
  return (await createDelegation({ issuer: user, audience: agent.did(), capabilities, ...options })).serialized;
}

describe('a good invocation', () => {
  it('gives the issuer as the authenticated DID', async () => {
    const expiration = nowSeconds() + 200;
    const verdict = unwrap(await verifier.verifyInvocation(await invoke({ expiration })));
    expect(verdict).toMatchObject({
      did: user.did(),
      expiration,
      capabilities: [{ can: 'oracle/chat', with: agent.did() }],
    });
    expect(verdict.cid).toBe(verdict.view.cid);
  });

  it.each(['*', 'oracle/*', 'oracle/chat', 'oracle/chat/send'])('may ask for %s', async (can) => {
    expect(await verifier.verifyInvocation(await invoke({ capability: { can, with: agent.did() } }))).toHaveProperty(
      'ok',
    );
  });

  it('may name the agent by either DID, the oracle at large, or the issuer’s own DID', async () => {
    for (const resource of [agent.did(), entity, 'ixo:oracle', user.did()]) {
      const capability = { can: 'oracle/*', with: resource };
      expect(await verifier.verifyInvocation(await invoke({ capability })), resource).toHaveProperty('ok');
      expect(await verifier.verifyInvocation(await invoke({ capability, audience: entity })), resource).toHaveProperty(
        'ok',
      );
    }
  });

  it('may carry a proof it does not need', async () => {
    const capability = { can: 'oracle/chat', with: 'ixo:oracle' };
    const proof = await parse(await delegate({ issuer: friend, audience: user.did(), capabilities: [capability] }));
    const verdict = await verifier.verifyInvocation(await invoke({ capability, proofs: [proof] }));
    expect(unwrap(verdict).did).toBe(user.did());
  });

  it('may carry several capabilities when all are for the oracle', async () => {
    const att = [
      { can: 'oracle/chat', with: agent.did() },
      { can: 'oracle/*', with: 'ixo:oracle' },
    ];
    const several = async (list: object[]) =>
      toArchive([await signBlock(user, { audience: agent.did(), att: list as never })]);
    expect(await verifier.verifyInvocation(await several(att))).toHaveProperty('ok');
    const mixed = await several([...att, { can: 'memory/read', with: agent.did() }]);
    expect((await verifier.verifyInvocation(mixed)).error?.code).toBe('UCAN_NOT_ALLOWED');
  });
});

describe('a good delegation', () => {
  it('gives the issuer, whatever it grants', async () => {
    const token = await delegate({
      capabilities: [
        { can: 'memory/*', with: user.did() },
        { can: 'mail/send', with: 'mailto:a@b.c' },
      ],
    });
    expect(unwrap(await verifier.verifyDelegation(token))).toMatchObject({ did: user.did(), capabilities: [{}, {}] });
  });

  it('may live for as long as it likes', async () => {
    expect(await verifier.verifyDelegation(await delegate({ lifetimeSeconds: 3_000_000 }))).toHaveProperty('ok');
  });

  it('expires with the first of its proofs', async () => {
    const expiration = nowSeconds() + 100;
    const capabilities = [{ can: 'memory/*', with: friend.did() }];
    const proof = await parse(await delegate({ issuer: friend, audience: user.did(), capabilities, expiration }));
    const token = await delegate({ capabilities, proofs: [proof] });
    expect(unwrap(await verifier.verifyDelegation(token)).expiration).toBe(expiration);
    clock = (expiration + 29) * 1000;
    expect(await verifier.verifyDelegation(token)).toHaveProperty('ok');
    clock = (expiration + 30) * 1000;
    expect((await verifier.verifyDelegation(token)).error?.code).toBe('UCAN_BAD_PROOF');
  });
});

describe('every reason to refuse', () => {
  const cases: Record<UcanErrorCode, () => Promise<string>> = {
    UCAN_MALFORMED: async () => `${await invoke()}AAAA`,
    UCAN_EXPIRED: () => invoke({ expiration: nowSeconds() - 31 }),
    UCAN_NOT_YET_VALID: () => invoke({ notBefore: nowSeconds() + 35 }),
    UCAN_NO_EXPIRY: () => invoke({ expiration: Number.POSITIVE_INFINITY }),
    UCAN_WRONG_AUDIENCE: () => invoke({ audience: friend.did() }),
    UCAN_BAD_SIGNATURE: () => invoke({ issuer: { ...user, did: friend.did } }),
    UCAN_BAD_PROOF: async () =>
      invoke({ proofs: [await parse(await delegate({ issuer: friend, audience: agent.did() }))] }),
    UCAN_NOT_ALLOWED: () => invoke({ capability: { can: 'memory/read', with: agent.did() } }),
    UCAN_TTL_TOO_LONG: () => invoke({ expiration: nowSeconds() + 935 }),
  };

  it.each(Object.entries(cases))('%s', async (code, mint) => {
    const token = await mint();
    const first = await verifier.verifyInvocation(token);
    expect(first.error).toEqual({ code, message: expect.any(String) });
    expect(await verifier.verifyInvocation(token)).toEqual(first);
  });

  it.each([
    'UCAN_MALFORMED',
    'UCAN_EXPIRED',
    'UCAN_NOT_YET_VALID',
    'UCAN_NO_EXPIRY',
    'UCAN_WRONG_AUDIENCE',
    'UCAN_BAD_SIGNATURE',
    'UCAN_BAD_PROOF',
  ] as const)('%s, for a delegation too', async (code) => {
    expect((await verifier.verifyDelegation(await cases[code]())).error?.code).toBe(code);
  });

  it.each([
    ['someone else’s DID', { can: 'oracle/chat', with: 'did:key:z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH' }],
    ['another thing', { can: 'oracle/chat', with: 'ixo:oracle2' }],
    ['an ability that only looks alike', { can: 'oracles/chat', with: 'ixo:oracle' }],
  ])('an invocation for %s', async (_, capability) => {
    expect((await verifier.verifyInvocation(await invoke({ capability }))).error?.code).toBe('UCAN_NOT_ALLOWED');
  });

  it('a delegation of someone else’s DID without a proof', async () => {
    const token = await delegate({ capabilities: [{ can: 'claims/*', with: 'did:ixo:entity:project' }] });
    expect((await verifier.verifyDelegation(token)).error?.code).toBe('UCAN_BAD_PROOF');
  });

  it('a token that is absurdly long, without reading it', async () => {
    expect((await verifier.verifyInvocation('A'.repeat(5_000_000))).error?.code).toBe('UCAN_MALFORMED');
  });
});

describe('clock skew', () => {
  it.each<[string, Partial<InvocationOptions>, number, UcanErrorCode | undefined]>([
    ['expired 29 s ago', { expiration: 1000 }, 1029, undefined],
    ['expired 30 s ago', { expiration: 1000 }, 1030, 'UCAN_EXPIRED'],
    ['valid in 30 s', { expiration: 1500, notBefore: 1030 }, 1000, undefined],
    ['valid in 31 s', { expiration: 1500, notBefore: 1031 }, 1000, 'UCAN_NOT_YET_VALID'],
    ['lives 930 s', { expiration: 1930 }, 1000, undefined],
    ['lives 931 s', { expiration: 1931 }, 1000, 'UCAN_TTL_TOO_LONG'],
  ])('%s', async (_, options, seconds, code) => {
    clock = seconds * 1000;
    expect((await verifier.verifyInvocation(await invoke(options))).error?.code).toBe(code);
  });

  it('and the lifetime is an option', async () => {
    clock = 1_000_000;
    const strict = setUp({ maxTtlSeconds: 60 });
    expect((await strict.verifyInvocation(await invoke({ expiration: 1091 }))).error?.code).toBe('UCAN_TTL_TOO_LONG');
    expect(await strict.verifyInvocation(await invoke({ expiration: 1090 }))).toHaveProperty('ok');
  });
});

describe('the memory of verdicts', () => {
  it('answers with the same object, and apart for each use', async () => {
    const token = await invoke({ expiration: nowSeconds() + 200 });
    const first = await verifier.verifyInvocation(token);
    expect(await verifier.verifyInvocation(token)).toBe(first);
    const long = await delegate();
    expect(await verifier.verifyDelegation(long)).toHaveProperty('ok');
    expect((await verifier.verifyInvocation(long)).error?.code).toBe('UCAN_TTL_TOO_LONG');
    expect(await verifier.verifyDelegation(long)).toHaveProperty('ok');
  });

  it('ends with the token', async () => {
    const expiration = nowSeconds() + 200;
    const token = await invoke({ expiration });
    expect(await verifier.verifyInvocation(token)).toHaveProperty('ok');
    clock = (expiration + 30) * 1000;
    expect((await verifier.verifyInvocation(token)).error?.code).toBe('UCAN_EXPIRED');
  });

  it('does not outlast a clock that is set back', async () => {
    const token = await invoke({ expiration: nowSeconds() + 200 });
    clock += 300_000;
    expect((await verifier.verifyInvocation(token)).error?.code).toBe('UCAN_EXPIRED');
    clock -= 300_000;
    expect(await verifier.verifyInvocation(token)).toHaveProperty('ok');
    clock -= 900_000;
    expect((await verifier.verifyInvocation(token)).error?.code).toBe('UCAN_TTL_TOO_LONG');
  });

  it('forgets refusals that time may lift', async () => {
    const token = await invoke({ notBefore: nowSeconds() + 60, expiration: nowSeconds() + 1000 });
    expect((await verifier.verifyInvocation(token)).error?.code).toBe('UCAN_NOT_YET_VALID');
    clock += 40_000;
    expect((await verifier.verifyInvocation(token)).error?.code).toBe('UCAN_TTL_TOO_LONG');
    clock += 60_000;
    expect(await verifier.verifyInvocation(token)).toHaveProperty('ok');
  });

  it('is bounded', async () => {
    const tokens = [await invoke(), await invoke(), await invoke()];
    const small = setUp({ cacheBytes: 16 * 2.5 * (tokens[0]?.length ?? 0) });
    const [first] = await Promise.all(tokens.map((token) => small.verifyInvocation(token)));
    expect(await small.verifyInvocation(tokens[0] ?? '')).not.toBe(first);
    expect(await small.verifyInvocation(tokens[0] ?? '')).toEqual(first);
  });

  it('keeps no more bytes than it may, however long the tokens are', async () => {
    const short = await invoke();
    const long = async (nonce: string) =>
      toArchive([await signBlock(user, { audience: agent.did(), nnc: nonce, fct: [{ pad: 'x'.repeat(40_000) }] })]);
    const small = setUp({ cacheBytes: 16 * 60_000 });
    const first = await small.verifyInvocation(short);
    expect(await small.verifyInvocation(short)).toBe(first);
    expect(await small.verifyInvocation(await long('1'))).toHaveProperty('ok');
    expect(await small.verifyInvocation(await long('2'))).toHaveProperty('ok');
    expect(await small.verifyInvocation(short)).not.toBe(first);
  });

  it('never holds a revocation back', async () => {
    const revoked = new Set<string>();
    const watchful = setUp({
      findStanding: async (chain) => (chain.some(({ cid }) => revoked.has(cid)) ? 'revoked' : undefined),
    });
    const capabilities = [{ can: 'memory/*', with: friend.did() }];
    const proof = await parse(await delegate({ issuer: friend, audience: user.did(), capabilities }));
    const token = await delegate({ capabilities, proofs: [proof] });
    const { cid } = unwrap(await watchful.verifyDelegation(token));
    const refusal = { error: { code: 'UCAN_NOT_ALLOWED', message: expect.any(String), revoked: true } };
    revoked.add(cid);
    expect(await watchful.verifyDelegation(token)).toEqual(refusal);
    expect(await watchful.verifyDelegation(`u${Buffer.from(decode(token)).toString('base64url')}`)).toEqual(refusal);
    revoked.clear();
    expect(await watchful.verifyDelegation(token)).toHaveProperty('ok');
    revoked.add(proof.cid);
    expect(await watchful.verifyDelegation(token)).toEqual(refusal);
  });
});

describe('issuers that are not keys', () => {
  const did = 'did:ixo:user:ana';
  const mint = () => invoke({ issuer: user.withDid(did) });

  it('are refused without a resolver', async () => {
    expect((await verifier.verifyInvocation(await mint())).error?.code).toBe('UCAN_BAD_SIGNATURE');
  });

  it('sign with any key of their document', async () => {
    const resolveDid = vi.fn(async () => ({ ok: [friend.did(), 'did:key:zNonsense', user.did()] }));
    const verdict = await setUp({ resolveDid }).verifyInvocation(await mint());
    expect(unwrap(verdict).did).toBe(did);
    expect(resolveDid).toHaveBeenCalledWith(did, undefined);
  });

  it('are asked again a minute later, and at once after a refusal', async () => {
    let keys = [friend.did()];
    const resolving = setUp({ resolveDid: async () => ({ ok: keys }) });
    const token = await mint();
    expect((await resolving.verifyInvocation(token)).error?.code).toBe('UCAN_BAD_SIGNATURE');
    keys = [user.did()];
    expect(await resolving.verifyInvocation(token)).toHaveProperty('ok');
    keys = [];
    clock += 59_000;
    expect(await resolving.verifyInvocation(token)).toHaveProperty('ok');
    clock += 1_000;
    expect((await resolving.verifyInvocation(token)).error?.code).toBe('UCAN_BAD_SIGNATURE');
  });

  it('are asked for all at once, and not more than four', async () => {
    const dids = Array.from({ length: 5 }, (_, index) => `did:ixo:user:${index}`);
    const mintChain = async (length: number) => {
      let token = '';
      for (const [index, did] of dids.slice(0, length).entries()) {
        const audience = index === length - 1 ? agent.did() : (dids[index + 1] ?? '');
        const capabilities = [{ can: 'memory/*', with: dids[0] ?? '' }];
        const proofs = token === '' ? [] : [await parse(token)];
        token = await delegate({ issuer: user.withDid(did), audience, capabilities, proofs });
      }
      return token;
    };
    let asking = 0;
    const resolveDid = vi.fn(async () => {
      asking += 1;
      await vi.waitUntil(() => asking === 4);
      return { ok: [user.did()] };
    });
    const resolving = setUp({ resolveDid });
    expect(await resolving.verifyDelegation(await mintChain(4))).toHaveProperty('ok');
    expect((await resolving.verifyDelegation(await mintChain(5))).error?.code).toBe('UCAN_BAD_PROOF');
    expect(resolveDid).toHaveBeenCalledTimes(4);
  });

  it('fail with the reason their document could not be read', async () => {
    const resolveDid = async () => ({ error: { message: 'no answer in time' } });
    const { error } = await setUp({ resolveDid }).verifyInvocation(await mint());
    expect(error).toEqual({ code: 'UCAN_BAD_SIGNATURE', message: 'no answer in time' });
  });
});

describe('checks are bounded', () => {
  it('by the length of the tokens that a client sends in a minute', async () => {
    const bounded = setUp({ checkedKibPerMinute: 4 });
    const tokens = await Promise.all(Array.from({ length: 6 }, () => invoke()));
    const limited = { error: { code: 'UCAN_NOT_ALLOWED', message: expect.any(String), limited: true } };
    const send = (token = '', client?: string) => bounded.verifyInvocation(token, client);
    for (const token of tokens.slice(0, 3)) expect(await send(token, 'a')).toHaveProperty('ok');
    expect(await send(tokens[3], 'a')).toEqual(limited);
    // What is known is not checked again; another client has its own allowance; bad ones count too.
    expect(await send(tokens[0], 'a')).toHaveProperty('ok');
    expect(await send('A'.repeat(2_000), 'b')).toMatchObject({ error: { code: 'UCAN_MALFORMED' } });
    expect(await send(tokens[3], 'b')).toEqual(limited);
    clock += 40_000;
    expect(await send(tokens[3], 'a')).toHaveProperty('ok');
    expect(await send(tokens[4], 'a')).toHaveProperty('ok');
    expect(await send(tokens[5], 'a')).toEqual(limited);
  });

  it('reads a token that may be either once', async () => {
    const bounded = setUp({ checkedKibPerMinute: 2 });
    const capabilities = [{ can: 'oracle/*', with: 'ixo:oracle' }];
    const key = await delegate({ capabilities, expiration: nowSeconds() + 86_400 });
    expect(await bounded.verifyBearer(key, 'a')).toHaveProperty('ok');
    expect((await bounded.verifyInvocation(key, 'a')).error?.code).toBe('UCAN_TTL_TOO_LONG');
    expect(await bounded.verifySignIn(key, 'a')).toHaveProperty('ok');
    expect((await setUp().verifyBearer(await delegate())).error?.code).toBe('UCAN_NOT_ALLOWED');
  });
});
