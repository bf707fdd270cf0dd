import { beforeAll, describe, expect, it } from 'vitest';
import { createSigners, nowSeconds, parse, unwrap } from '../test/tokens.ts';
import { createVerifier } from './create-verifier.ts';
import { createDelegation, createInvocation, mintDownstream } from './mint.ts';
import type { Signer } from './signer.ts';

let user: Signer;
let agent: Signer;
let service: Signer;

beforeAll(async () => {
  [user, agent, service] = (await createSigners(3)) as [Signer, Signer, Signer];
});

describe('minting', () => {
  it('gives standard base64, the expiry and the CID', async () => {
    const capability = { can: 'oracle/*', with: agent.did() };
    const before = nowSeconds();
    const minted = await createInvocation({ issuer: user, audience: agent.did(), capability });
    expect(minted.serialized).toMatch(/^[A-Za-z0-9+/]+={0,2}$/);
    expect(minted.expiresAt).toBeGreaterThanOrEqual(before + 300);
    expect(minted.expiresAt).toBeLessThanOrEqual(nowSeconds() + 300);
    expect(await parse(minted)).toMatchObject({ cid: minted.cid, expiration: minted.expiresAt });
  });

  it('takes a lifetime or a time', async () => {
    const options = { issuer: user, audience: agent.did(), capabilities: [{ can: 'oracle/*', with: user.did() }] };
    expect((await createDelegation({ ...options, expiration: 2_000_000_000 })).expiresAt).toBe(2_000_000_000);
    const minted = await createDelegation({ ...options, lifetimeSeconds: 60 });
    expect(minted.expiresAt - nowSeconds()).toBeLessThanOrEqual(60);
  });

  it('never gives the same token twice', async () => {
    const options = { issuer: user, audience: agent.did(), expiration: 2_000_000_000 };
    const capability = { can: 'oracle/*', with: agent.did() };
    const [one, other] = [
      await createInvocation({ ...options, capability }),
      await createInvocation({ ...options, capability }),
    ];
    expect(one.cid).not.toBe(other.cid);
  });

  it('throws for what no verifier would take', async () => {
    const options = { issuer: user, audience: agent.did(), capability: { can: 'oracle/*', with: agent.did() } };
    await expect(createInvocation({ ...options, audience: 'nobody' })).rejects.toThrow();
    await expect(createInvocation({ ...options, capability: { can: 'chat', with: 'ixo:oracle' } })).rejects.toThrow();
    await expect(createInvocation({ ...options, capability: { can: 'a/b', with: 'no uri' } })).rejects.toThrow();
    await expect(createInvocation({ ...options, facts: [{ pad: 'x'.repeat(60_000) }] })).rejects.toThrow(RangeError);
  });
});

describe('an invocation downstream', () => {
  const memory = () => ({ can: 'memory/*', with: user.did() });

  async function delegate(options: Partial<Parameters<typeof createDelegation>[0]> = {}) {
    const issued = { issuer: user, audience: agent.did(), capabilities: [memory()], ...options };
    return await parse(await createDelegation(issued));
  }

  it('has the user’s delegation as its proof', async () => {
    const capability = { ...memory(), can: 'memory/read' };
    const minted = unwrap(
      await mintDownstream({ issuer: agent, audience: service.did(), capability, delegation: await delegate() }),
    );
    const verdict = unwrap(await createVerifier({ audiences: [service.did()] }).verifyDelegation(minted.serialized));
    expect(verdict).toMatchObject({
      did: agent.did(),
      capabilities: [capability],
      view: { proofs: [{ issuer: user.did() }] },
    });
  });

  it('never outlives it', async () => {
    const expiration = nowSeconds() + 20;
    const delegation = await delegate({ expiration });
    const options = { issuer: agent, audience: service.did(), capability: memory(), delegation };
    expect(unwrap(await mintDownstream(options)).expiresAt).toBe(expiration);
  });

  it('never outlives the proofs of its proof', async () => {
    const expiration = nowSeconds() + 20;
    const capability = { can: 'memory/read', with: service.did() };
    const lent = { issuer: service, audience: user.did(), capabilities: [capability], expiration };
    const proofs = [await parse(await createDelegation(lent))];
    const delegation = await delegate({ capabilities: [capability], proofs });
    const options = { issuer: agent, audience: service.did(), capability, delegation };
    expect(unwrap(await mintDownstream(options)).expiresAt).toBe(expiration);
  });

  it('is not minted without the right', async () => {
    const delegation = await delegate();
    const options = { issuer: agent, audience: service.did(), capability: memory(), delegation };
    expect((await mintDownstream({ ...options, issuer: service })).error?.message).toMatch(/another audience/);
    const wider = { ...memory(), can: '*' };
    expect((await mintDownstream({ ...options, capability: wider })).error?.message).toMatch(/does not grant/);
  });
});
