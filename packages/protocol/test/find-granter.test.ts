import { waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findAddress, findGranter } from '../src/find-address.ts';
import { createGatewayClient, type GatewayClient } from '../src/gateway-client.ts';
import { toSend } from '../src/messages.ts';
import { broadcastTx, readAccount, readLatestBlock, readTx } from '../src/read-chain.ts';
import type { TxMessage } from '../src/signing-account.ts';
import { createAccount, startChain, startProxy, type TestChain } from './start-chain.ts';
import { toSendGrant } from './to-send-grant.ts';

const [owner, other] = ['did:x:owner', 'did:x:other'];
let chain: TestChain;
let gateway: GatewayClient;
beforeAll(async () => {
  chain = await startChain(1, 1_000_000, [owner, other]);
  gateway = createGatewayClient({ url: chain.gatewayUrl });
});
afterAll(() => chain.close());

test('only the DID in the memo of the latest grant to the same account may have coins sent', async () => {
  const [account] = chain.payers as [(typeof chain.payers)[number]];
  const [{ address: grantee }, { address: elsewhere }] = [await createAccount(), await createAccount()];
  const transact = async (message: TxMessage, memo: string) => {
    const [latest, own] = [await readLatestBlock(gateway), await readAccount(gateway, account.address)];
    if (!latest.ok || !own.ok) throw new Error('the chain can be read');
    const tx = { messages: [message], memo, chainId: latest.chainId, timeoutHeight: latest.height + 1_000, ...own };
    const { bytes, hash } = await account.sign(tx);
    await broadcastTx(gateway, Buffer.from(bytes).toString('base64'));
    await waitFor('the block', async () => (await readTx(gateway, hash)).ok);
  };
  const limit = [{ denom: 'uixo', amount: '100' }];
  const grant = (to: string) =>
    toSendGrant({ granter: account.address, grantee: to, limit, expiresAt: new Date(Date.now() + 3_600_000) });
  const find = async (did: string) => {
    const found = await findGranter(gateway, { did, grantee, signal: AbortSignal.timeout(60_000) });
    return found.ok ? found.granter : found;
  };
  const becomes = (did: string, granter: string | undefined) =>
    waitFor(`the account of ${did}`, async () => (await find(did)) === granter);

  await transact(toSend({ from: account.address, to: elsewhere, coins: limit }), owner);
  await transact(grant(elsewhere), other);
  await transact(grant(grantee), '');
  for (const did of [owner, other, 'did:x:nobody', 'did:key:z6Mk']) expect(await find(did)).toBeUndefined();
  await transact(grant(grantee), owner);
  await becomes(owner, account.address);
  expect(await find(other)).toBeUndefined();
  await transact(grant(elsewhere), other);
  await transact(toSend({ from: account.address, to: elsewhere, coins: limit }), other);
  expect(await find(other)).toBeUndefined();
  await transact(grant(grantee), other);
  await becomes(other, account.address);
  await becomes(owner, undefined);
});

test('a gateway that cannot be reached, or a node that is down, does not read as a DID without accounts', async () => {
  const signal = AbortSignal.timeout(60_000);
  await using down = await startProxy(chain.gatewayUrl, async () => ({ status: 503, body: '{"message":"no node"}' }));
  await using cut = await startProxy(chain.gatewayUrl, async () => undefined);
  for (const { url } of [down, cut]) {
    const broken = createGatewayClient({ url });
    expect(await findGranter(broken, { did: owner, grantee: 'ixo1x', signal })).toMatchObject({ ok: false });
    expect(await findAddress(broken, owner)).toMatchObject({ ok: false });
  }
  expect(await findAddress(gateway, 'did:x:nobody')).toEqual({ ok: true, address: undefined });
  expect(await findAddress(gateway, owner)).toEqual({ ok: true, address: chain.payers[0]?.address });
});
