import { type API, CAR, Delegation, delegate, invoke } from '@ucanto/core';
import * as ed25519 from '@ucanto/principal/ed25519';
import { access, capability, Schema } from '@ucanto/validator';
import { describe, expect, it } from 'vitest';
import { encodeBase64 } from '../src/bytes.ts';
import { createVerifier } from '../src/create-verifier.ts';
import { createDelegation, createInvocation } from '../src/mint.ts';
import type { Signer } from '../src/signer.ts';
import { createSigners, decode, parse, unwrap } from './tokens.ts';

async function archive(delegation: API.Delegation): Promise<string> {
  const { ok, error } = await delegation.archive();
  if (!ok) throw error;
  return encodeBase64(ok);
}

describe('tokens minted by ucanto itself', () => {
  it('pass: an invocation and a delegation with a proof', async () => {
    const [owner, user, agent] = await Promise.all([ed25519.generate(), ed25519.generate(), ed25519.generate()]);
    const verifier = createVerifier({ audiences: [agent.did()] });
    const invocation = await invoke({
      issuer: user,
      audience: agent,
      capability: {
        can: 'oracle/chat',
        with: agent.did(),
        nb: { text: 'hello', bytes: new Uint8Array([1, 2]), n: 1.5 },
      },
      lifetimeInSeconds: 300,
      notBefore: 1,
      nonce: 'n',
      facts: [{ any: ['thing', null, true, -3] }],
    }).delegate();
    expect(unwrap(await verifier.verifyInvocation(await archive(invocation))).did).toBe(user.did());

    const capabilities: API.Capabilities = [{ can: 'memory/*', with: owner.did() }];
    const proof = await delegate({ issuer: owner, audience: user, capabilities, expiration: Number.POSITIVE_INFINITY });
    const next = await delegate({
      issuer: user,
      audience: agent,
      capabilities,
      proofs: [proof],
      lifetimeInSeconds: 900,
    });
    const verdict = unwrap(await verifier.verifyDelegation(await archive(next)));
    expect(verdict).toMatchObject({
      did: user.did(),
      cid: next.cid.toString(),
      view: { proofs: [{ issuer: owner.did() }] },
    });
  });

  it('pass with their blocks in another order', async () => {
    const [owner, user, agent] = await Promise.all([ed25519.generate(), ed25519.generate(), ed25519.generate()]);
    const capabilities: API.Capabilities = [{ can: 'memory/*', with: owner.did() }];
    const proof = await delegate({ issuer: owner, audience: user, capabilities, lifetimeInSeconds: 900 });
    const next = await delegate({
      issuer: user,
      audience: agent,
      capabilities,
      proofs: [proof],
      lifetimeInSeconds: 900,
    });
    const { roots, blocks } = CAR.decode(decode(await archive(next)) as never);
    const turned = encodeBase64(CAR.encode({ roots, blocks: new Map([...blocks].reverse()) }));
    expect(turned).not.toBe(await archive(next));
    expect(await createVerifier({ audiences: [agent.did()] }).verifyDelegation(turned)).toHaveProperty('ok');
  });

  it('are refused when signed with another kind of key', async () => {
    const { RSA } = await import('@ucanto/principal');
    const [user, agent] = [await RSA.generate(), await ed25519.generate()];
    const capabilities: API.Capabilities = [{ can: 'oracle/*', with: agent.did() }];
    const token = await archive(
      await delegate({ issuer: user, audience: agent, capabilities, lifetimeInSeconds: 300 }),
    );
    const { error } = await createVerifier({ audiences: [agent.did()] }).verifyInvocation(token);
    expect(error?.code).toBe('UCAN_MALFORMED');
  });
});

describe('our tokens pass ucanto’s own validator', () => {
  const chat = capability({ can: 'oracle/chat', with: Schema.did(), nb: Schema.struct({ room: Schema.string() }) });

  async function validate(token: string, authority: string): Promise<unknown> {
    const invocation = unwrap((await Delegation.extract(decode(token))) as never);
    return await access(invocation as never, {
      capability: chat,
      authority: ed25519.Verifier.parse(authority),
      principal: ed25519.Verifier,
      validateAuthorization: () => ({ ok: {} }),
    });
  }

  it('alone and with a proof', async () => {
    const [owner, user, agent] = (await createSigners(3)) as [Signer, Signer, Signer];
    const grant = { can: 'oracle/chat', with: owner.did(), nb: { room: 'a' } };
    const own = await createInvocation({ issuer: owner, audience: agent.did(), capability: grant });
    expect(await validate(own.serialized, agent.did())).toHaveProperty('ok');

    const proof = await createDelegation({ issuer: owner, audience: user.did(), capabilities: [grant] });
    const proofs = [await parse(proof)];
    const used = await createInvocation({ issuer: user, audience: agent.did(), capability: grant, proofs });
    expect(await validate(used.serialized, agent.did())).toHaveProperty('ok');

    const unproven = await createInvocation({ issuer: user, audience: agent.did(), capability: grant });
    expect(await validate(unproven.serialized, agent.did())).toHaveProperty('error');
  });
});
