import { defineOraclePlugin, tool } from '@palaver/agent';
import { createSigner, parseToken } from '@palaver/ucan';
import { delegate } from '@ucanto/core';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import { startAgent } from '../../test/start-agent.ts';
import { type Approval, createAgentApi, createChat, createCredentialCache, createTransport } from '../core/index.ts';
import { fromBase58, fromBase64, toBase58, toBase64 } from './bytes.ts';
import { createKeyWallet, importKeyWallet } from './key-wallet.ts';
import { mintToken, type TokenSigner } from './mint.ts';

const issuer = await createSigner();
const signer: TokenSigner = {
  did: issuer.did(),
  sign: async (payload) => (await issuer.sign(payload)).raw,
};

it('writes the same bytes as ucanto, for every kind of DID and capability', async () => {
  const name = fc.stringMatching(/^[a-z][a-zA-Z]{0,9}$/);
  const did = fc.oneof(
    fc.constant((await createSigner()).did() as string),
    name.map((id) => `did:web:${id}.example`),
  );
  const nb = fc.dictionary(name, fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.boolean()), {
    maxKeys: 30,
  });
  const capability = fc.record(
    { can: name.map((verb) => `oracle/${verb}`), with: name.map((id) => `ixo:${id}`), nb },
    { requiredKeys: ['can', 'with'] },
  );
  const token = fc.record({
    audience: did,
    capabilities: fc.array(capability, { minLength: 1, maxLength: 30 }),
    expiration: fc.integer({ min: 1, max: 2 ** 40 }),
    nonce: fc.stringMatching(/^[A-Za-z0-9+/]{1,300}$/),
  });
  await fc.assert(
    fc.asyncProperty(token, async ({ audience, ...rest }) => {
      const reference = await delegate({ issuer, audience: { did: () => audience as `did:web:x` }, ...rest } as never);
      const { ok: archive } = await reference.archive();
      const { serialized } = await mintToken({ signer, audience, ...rest });
      expect(serialized).toBe(toBase64(archive as Uint8Array));
    }),
    { numRuns: 60 },
  );
});

it('reads back what it writes in base58 and base64', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      expect(fromBase58(toBase58(bytes))).toEqual(new Uint8Array(bytes));
      expect(fromBase64(toBase64(bytes))).toEqual(new Uint8Array(bytes));
    }),
  );
});

it('signs a new user in at an agent, and a backup is the same user', async () => {
  await using agent = await startAgent();
  const wallet = await createKeyWallet({ passphrase: 'a long passphrase' });
  const credentials = createCredentialCache({ userDid: wallet.did, ...wallet });
  const api = createAgentApi(createTransport({ baseUrl: agent.url, oracleDid: agent.did, credentials }));
  const { sessionId } = await api.createSession();
  const { serialized } = await wallet.createDelegation(agent.did);
  await api.storeDelegation(serialized);

  const again = await importKeyWallet(wallet.backup ?? '', { passphrase: 'a long passphrase' });
  expect(again.did).toBe(wallet.did);
  const other = createTransport({
    baseUrl: agent.url,
    oracleDid: agent.did,
    credentials: createCredentialCache({ userDid: again.did, ...again }),
  });
  expect((await createAgentApi(other).listSessions()).sessions.map((session) => session.sessionId)).toEqual([
    sessionId,
  ]);
  await expect(importKeyWallet(wallet.backup ?? '', { passphrase: 'another' })).rejects.toMatchObject({
    code: 'KEY_BACKUP_REFUSED',
  });
});

it('signs exactly what an agent lacks, and its run continues', async () => {
  const capability = (did: string) => ({ can: 'bank/withdraw', with: did, nb: { limit: '100', perDay: 2 } });
  const bank = defineOraclePlugin({
    name: 'bank',
    version: '1.0.0',
    manifest: { title: 'Bank', summary: 'Pays.', whenToUse: [], visibility: 'silent', stability: 'stable' },
    getTools: () => ({
      withdraw: tool({
        description: 'Withdraws money.',
        inputSchema: z.object({}),
        needsDelegation: (_args, { user }) => capability(user.did),
        execute: (_args, { ucan, user }) => ucan.hasCapability(capability(user.did)),
      }),
      open: tool({
        description: 'Opens a vault.',
        inputSchema: z.object({}),
        needsInvocation: ({ user }) => ({ audience: issuer.did(), capability: capability(user.did) }),
        execute: async (_args, { invocation }) => {
          const { ok } = await parseToken(invocation ?? '');
          return { issuer: ok?.issuer, audience: ok?.audience, capabilities: ok?.capabilities };
        },
      }),
    }),
  });
  await using agent = await startAgent({}, [bank]);
  const wallet = await createKeyWallet();
  const credentials = createCredentialCache({ userDid: wallet.did, ...wallet });
  const transport = createTransport({ baseUrl: agent.url, oracleDid: agent.did, credentials });
  const { sessionId } = await createAgentApi(transport).createSession();
  const chat = createChat({ transport, sessionId });
  const stop = chat.start();
  await vi.waitFor(() => expect(chat.get().isLoading).toBe(false), 150_000);
  const approve = async (message: string) => {
    const sent = chat.send(message);
    const asked = await vi.waitFor(() => {
      const approvals = chat.get().messages.flatMap((said) => said.approvals ?? []);
      const pending = approvals.find(({ status }) => status === 'pending');
      expect(pending).toBeDefined();
      return pending as Approval;
    }, 150_000);
    expect(await chat.answerApproval(asked.approvalId, { approved: true })).toMatchObject({ status: 'approved' });
    await sent;
    return asked;
  };
  const own = capability(wallet.did);
  expect(await approve('/tool withdraw {}')).toMatchObject({ capability: own });
  expect(await approve('/tool open {}')).toMatchObject({ invocation: { audience: issuer.did(), capability: own } });
  await vi.waitFor(() => {
    const calls = chat.get().messages.flatMap(({ toolCalls = [] }) => toolCalls);
    expect(calls).toMatchObject([
      { name: 'withdraw', status: 'done', output: true },
      { name: 'open', output: { issuer: wallet.did, audience: issuer.did(), capabilities: [own] } },
    ]);
  }, 150_000);
  stop();
});
