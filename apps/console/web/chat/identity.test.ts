import { createDelegation, createSigner, parseToken } from '@palaver/ucan';
import { expect, it } from 'vitest';
import { type Identity, readIdentity } from './identity.ts';

const capability = { can: 'bank/withdraw', with: 'did:web:bank.example', nb: { limit: '100' } };
const audience = 'did:web:agent.example';
const signIn = { can: 'oracle/*', with: audience };

it('signs with a key what was approved and nothing else, and what signs in where nothing was', async () => {
  const { createDelegation: delegate, createInvocation: invoke } = (await readIdentity(
    (await createSigner()).toSecret(),
  )) as Required<Identity>;
  for (const sign of [delegate, invoke]) {
    expect((await parseToken((await sign(audience, capability)).serialized)).ok?.capabilities).toEqual([capability]);
    expect((await parseToken((await sign(audience)).serialized)).ok?.capabilities).toEqual([signIn]);
  }
});

it('refuses to approve with a delegation that was signed elsewhere', async () => {
  const issuer = await createSigner();
  const { serialized } = await createDelegation({ issuer, audience, capabilities: [signIn as never] });
  const identity = (await readIdentity(serialized)) as Identity;
  expect((await identity.createDelegation(audience)).serialized).toBe(serialized);
  await expect(identity.createDelegation(audience, capability)).rejects.toThrow('chat.cannotSign');
});
