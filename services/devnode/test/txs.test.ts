// Transactions, signed by a library of the field, at the wire of a real node.
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { DirectSecp256k1Wallet, makeAuthInfoBytes, makeSignDoc } from '@cosmjs/proto-signing';
import { toSendFor } from '@palaver/protocol/internal';
import { createLogger } from '@palaver/service-kit';
import { createTempDir, freePort, startProcess } from '@palaver/test-kit';
import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx';
import { TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx';
import type { Any } from 'cosmjs-types/google/protobuf/any';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { toSendGrant } from '../../../packages/protocol/test/to-send-grant.ts';
import { getMessage } from '../src/protocol.ts';
import { createNodeClient } from './node-client.ts';
import { startTestNode, type TestNode } from './start-test-node.ts';

const logger = createLogger({ name: 'devnode', level: 'silent' });
const main = join(import.meta.dirname, '../src/main.ts');
const chainId = 'palaver-dev-1';
const admin = 'ixo1lrwx36agqruf2tlp6jzr9snsee09ksrvue5j3j';
const payer = 'ixo1nke3x232fdp2dtw98yhd389ydfkjx87zgwwy6u';

type Client = Awaited<ReturnType<typeof createNodeClient>>;
type Signing = {
  sequence?: number;
  chain?: string;
  memo?: string;
  timeoutHeight?: bigint;
  fee?: number | string;
  gas?: number;
};

const createSigner = async () => {
  const wallet = await DirectSecp256k1Wallet.fromKey(randomBytes(32), 'ixo');
  const [account] = await wallet.getAccounts();
  if (!account) throw new Error('a wallet has an account');
  return { wallet, ...account };
};
type Signer = Awaited<ReturnType<typeof createSigner>>;

const send = (from: string, to: string, amount: number): Any => {
  const message = { fromAddress: from, toAddress: to, amount: [{ denom: 'uixo', amount: String(amount) }] };
  return { typeUrl: MsgSend.typeUrl, value: MsgSend.encode(message).finish() };
};

async function sign(client: Client, signer: Signer, messages: Any[], options: Signing = {}) {
  const { json } = await client.call('cosmos.auth.v1beta1.Query', 'AccountInfo', { address: signer.address });
  const { account_number, sequence } = json.info as { account_number: string; sequence: string };
  const { memo = '', timeoutHeight = 0n, fee = 0, gas = 300_000 } = options;
  const bodyBytes = TxBody.encode(TxBody.fromPartial({ messages, memo, timeoutHeight })).finish();
  const key = { typeUrl: '/cosmos.crypto.secp256k1.PubKey', value: Buffer.from([0x0a, 33, ...signer.pubkey]) };
  const coins = fee !== 0 ? [{ denom: 'uixo', amount: String(fee) }] : [];
  const signers = [{ pubkey: key, sequence: options.sequence ?? Number(sequence) }];
  const authInfoBytes = makeAuthInfoBytes(signers, coins, gas, undefined, undefined);
  const doc = makeSignDoc(bodyBytes, authInfoBytes, options.chain ?? chainId, Number(account_number));
  const { signature } = await signer.wallet.signDirect(signer.address, doc);
  return TxRaw.encode({ bodyBytes, authInfoBytes, signatures: [Buffer.from(signature.signature, 'base64')] }).finish();
}

async function broadcast(client: Client, bytes: Uint8Array) {
  const request = { tx_bytes: Buffer.from(bytes).toString('base64'), mode: 'BROADCAST_MODE_SYNC' };
  const { json } = await client.call('cosmos.tx.v1beta1.Service', 'BroadcastTx', request);
  return json.tx_response as { code: number; txhash: string; raw_log: string };
}

/** Claim messages in `MsgExec`, as agents send them. */
function exec(client: Client, grantee: string, type: 'MsgSubmitClaim' | 'MsgEvaluateClaim', fields: object): Any {
  const desc = getMessage(client.protocol, `ixo.claims.v1beta1.${type}`);
  const message = create(desc, { adminAddress: admin, collectionId: '1', ...fields } as never);
  const msgs = [{ typeUrl: `/${desc.typeName}`, value: toBinary(desc, message) }];
  const outer = getMessage(client.protocol, 'cosmos.authz.v1beta1.MsgExec');
  const value = toBinary(outer, create(outer, { grantee, msgs } as never));
  return { typeUrl: `/${outer.typeName}`, value };
}

let now = Date.UTC(2026, 5, 1);
let node: TestNode;
let client: Client;
let rich: Signer;
const nextBlock = () => {
  now += 5_000;
};
const balanceOf = async (address: string) => {
  const { json } = await client.call('cosmos.bank.v1beta1.Query', 'Balance', { address, denom: 'uixo' });
  return Number((json.balance as { amount: string }).amount);
};
const getTx = (hash: string) => client.call('cosmos.tx.v1beta1.Service', 'GetTx', { hash });

beforeAll(async () => {
  rich = await createSigner();
  const seed = await createTempDir();
  const coins = [{ denom: 'uixo', amount: '100000000' }];
  const balances = [rich.address, payer].map((address) => ({ address, coins }));
  await writeFile(join(seed.path, 'balances.json'), JSON.stringify(balances));
  node = await startTestNode({ logger, seed: seed.path, clock: () => now });
  client = await createNodeClient(node.address);
  await seed[Symbol.asyncDispose]();
});
afterAll(async () => {
  client[Symbol.dispose]();
  await node.close();
});

test('a payment is in the next block, moves the coins once, and is found by hash, address and height', async () => {
  const poor = await createSigner();
  const before = await balanceOf(rich.address);
  const bytes = await sign(client, rich, [send(rich.address, poor.address, 700)], { memo: 'for tea', fee: 50 });
  const { code, txhash } = await broadcast(client, bytes);
  expect(code).toBe(0);
  expect((await broadcast(client, bytes)).code).toBe(19);
  expect([(await getTx(txhash)).code, await balanceOf(poor.address)]).toEqual([5, 0]);
  nextBlock();
  const { tx, tx_response: response } = (await getTx(txhash)).json as Record<string, never>;
  expect(response).toMatchObject({ code: 0, height: String(node.latestHeight()), txhash });
  expect(tx).toMatchObject({ body: { memo: 'for tea' } });
  expect([await balanceOf(poor.address), await balanceOf(rich.address)]).toEqual([700, before - 750]);
  expect((await broadcast(client, bytes)).code).toBe(32);
  const query = `transfer.recipient='${poor.address}' AND tx.height>=${node.latestHeight()}`;
  const found = await client.call('cosmos.tx.v1beta1.Service', 'GetTxsEvent', { query });
  expect(found.json).toMatchObject({ total: '1', tx_responses: [{ txhash }] });
  const block = await client.call('cosmos.base.tendermint.v1beta1.Service', 'GetBlockByHeight', {
    height: String(node.latestHeight()),
  });
  expect(block.json.block).toMatchObject({ data: { txs: [Buffer.from(bytes).toString('base64')] } });
});

test('what the signer did not sign for this chain, this sequence and this time is refused', async () => {
  const stranger = await createSigner();
  const message = [send(rich.address, stranger.address, 1)];
  const code = async (bytes: Uint8Array) => (await broadcast(client, bytes)).code;
  expect(await code(await sign(client, rich, message, { chain: 'another-1' }))).toBe(4);
  expect(await code(await sign(client, rich, message, { sequence: 99 }))).toBe(32);
  expect(await code(await sign(client, rich, message, { timeoutHeight: BigInt(node.latestHeight()) }))).toBe(30);
  expect(await code(await sign(client, rich, message, { memo: 'm'.repeat(257) }))).toBe(12);
  const forged = await sign(client, rich, message);
  forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
  expect(await code(forged)).toBe(4);
  expect(await code(new Uint8Array(40).fill(0xff))).toBe(2);
  const unknownField = [0x78, 0x01];
  expect(await code(Uint8Array.from([...(await sign(client, rich, message)), ...unknownField]))).toBe(2);
  // Signed by somebody, but not by the owner of the coins: taken, and without effect.
  const theft = await broadcast(client, await sign(client, stranger, message));
  expect(theft.code).toBe(0);
  nextBlock();
  expect((await getTx(theft.txhash)).json.tx_response).toMatchObject({ code: 4, codespace: 'sdk' });
  expect(await balanceOf(stranger.address)).toBe(0);
});

test('messages of one transaction change all or nothing; too little gas changes nothing', async () => {
  const friend = await createSigner();
  const before = await balanceOf(rich.address);
  const both = [send(rich.address, friend.address, 5), send(rich.address, friend.address, 1e15)];
  const overdrawn = await broadcast(client, await sign(client, rich, both));
  nextBlock();
  expect((await getTx(overdrawn.txhash)).json.tx_response).toMatchObject({ code: 5 });
  const starved = await broadcast(client, await sign(client, rich, both.slice(0, 1), { gas: 1_000 }));
  nextBlock();
  expect((await getTx(starved.txhash)).json.tx_response).toMatchObject({ code: 11 });
  expect([await balanceOf(rich.address), await balanceOf(friend.address)]).toEqual([before, 0]);
  const request = { tx_bytes: Buffer.from(await sign(client, rich, both.slice(0, 1))).toString('base64') };
  const { json } = await client.call('cosmos.tx.v1beta1.Service', 'Simulate', request);
  expect(Number((json.gas_info as { gas_used: string }).gas_used)).toBeGreaterThan(50_000);
  expect(await balanceOf(friend.address)).toBe(0);
});

test('a claim is submitted once, approved once, and its agent and evaluator are paid from the collection', async () => {
  const [agent, evaluator] = [await createSigner(), await createSigner()];
  const claimId = `claim-${agent.address}`;
  const whole = await balanceOf(payer);
  const run = async (signer: Signer, message: Any) => {
    const { txhash } = await broadcast(client, await sign(client, signer, [message]));
    nextBlock();
    return ((await getTx(txhash)).json.tx_response as { code: number }).code;
  };
  const claim = { claimId, agentDid: 'did:x:agent', agentAddress: agent.address };
  expect(await run(agent, exec(client, agent.address, 'MsgSubmitClaim', claim))).toBe(0);
  expect(await run(agent, exec(client, agent.address, 'MsgSubmitClaim', claim))).toBe(1105);
  const foreign = { ...claim, claimId: 'other', agentAddress: evaluator.address };
  expect(await run(agent, exec(client, agent.address, 'MsgSubmitClaim', foreign))).toBe(2);
  const verdict = { claimId, agentAddress: evaluator.address, status: 1, oracle: 'did:x:oracle' };
  expect(await run(evaluator, exec(client, evaluator.address, 'MsgEvaluateClaim', verdict))).toBe(0);
  expect(await run(evaluator, exec(client, evaluator.address, 'MsgEvaluateClaim', verdict))).toBe(1106);
  const { json } = await client.call('ixo.claims.v1beta1.Query', 'Claim', { id: claimId });
  expect(json.claim).toMatchObject({
    agent_address: agent.address,
    evaluation: { status: 'APPROVED' },
    payments_status: { approval: 'PAID', evaluation: 'PAID' },
  });
  expect([await balanceOf(agent.address), await balanceOf(evaluator.address)]).toEqual([2_500_000, 500_000]);
  expect(await balanceOf(payer)).toBe(whole - 3_000_000);
});

test('coins of another are sent under their grant, up to its limit and its end', async () => {
  const [agent, shop] = [await createSigner(), await createSigner()];
  const run = async (signer: Signer, message: Any) => {
    const { txhash } = await broadcast(client, await sign(client, signer, [message]));
    nextBlock();
    const { code, codespace } = (await getTx(txhash)).json.tx_response as { code: number; codespace: string };
    return code === 0 ? 0 : `${codespace} ${code}`;
  };
  const grant = (amount: string, seconds = 3600) =>
    toSendGrant({
      granter: rich.address,
      grantee: agent.address,
      limit: [{ denom: 'uixo', amount }],
      expiresAt: new Date(now + seconds * 1000),
    });
  const spend = (amount: string) =>
    run(
      agent,
      toSendFor({
        grantee: agent.address,
        from: rich.address,
        to: shop.address,
        coins: [{ denom: 'uixo', amount }],
      }),
    );
  expect(await spend('1')).toBe('authz 2');
  expect(await run(agent, grant('100'))).toBe('sdk 4');
  expect(await run(rich, grant('100', -60))).toBe('authz 3');
  expect(await run(rich, grant('100'))).toBe(0);
  expect(await spend('60')).toBe(0);
  expect(await spend('41')).toBe('sdk 5');
  expect(await spend('40')).toBe(0);
  expect(await spend('1')).toBe('authz 2');
  expect(await run(rich, grant('100', 30))).toBe(0);
  for (let block = 0; block < 10; block += 1) nextBlock();
  expect(await spend('1')).toBe('authz 6');
  expect(await balanceOf(shop.address)).toBe(100);
});

test('amounts that are no positive numbers are refused, in claims and in fees, and change nothing', async () => {
  const agent = await createSigner();
  const whole = await balanceOf(payer);
  const claim = (amount: string) =>
    exec(client, agent.address, 'MsgSubmitClaim', {
      claimId: `claim-${amount}-${agent.address}`,
      agentDid: 'did:x:agent',
      agentAddress: agent.address,
      amount: [{ denom: 'uixo', amount }],
    });
  for (const amount of ['abc', '-5', '0', '']) {
    const { txhash } = await broadcast(client, await sign(client, agent, [claim(amount)]));
    nextBlock();
    expect((await getTx(txhash)).json.tx_response).toMatchObject({ code: 10, codespace: 'sdk' });
  }
  const friend = await createSigner();
  for (const fee of ['abc', '-5']) {
    const bytes = await sign(client, rich, [send(rich.address, friend.address, 1)], { fee });
    const request = { tx_bytes: Buffer.from(bytes).toString('base64') };
    const { details } = await client.call('cosmos.tx.v1beta1.Service', 'Simulate', request);
    expect(details).toContain('invalid fee');
  }
  expect([await balanceOf(payer), await balanceOf(friend.address)]).toEqual([whole, 0]);
});

test('what it said yes to is there after kill -9, in the block it was given', async () => {
  const port = await freePort();
  await using dir = await createTempDir();
  await writeFile(
    join(dir.path, 'balances.json'),
    JSON.stringify([{ address: rich.address, coins: [{ denom: 'uixo', amount: '1000' }] }]),
  );
  const env = { PORT: String(port), DATA_DIR: join(dir.path, 'data'), DEVNODE_SEED: dir.path, DEVNODE_BLOCK_MS: '50' };
  const start = async (changed = {}) => {
    const child = startProcess(process.execPath, [main], { env: { ...env, ...changed }, cwd: dir.path });
    await child.printed('for development only');
    return child;
  };
  const first = await start();
  using own = await createNodeClient(`127.0.0.1:${port}`);
  const { txhash } = await broadcast(own, await sign(own, rich, [send(rich.address, payer, 7)]));
  first.kill('SIGKILL');
  await first.exited;
  const second = await start();
  using again = await createNodeClient(`127.0.0.1:${port}`);
  const { json } = await again.call('cosmos.tx.v1beta1.Service', 'GetTx', { hash: txhash });
  expect(json.tx_response).toMatchObject({ code: 0, txhash });
  second.kill();
  await second.exited;
  // Longer blocks have smaller heights: what is in the log is in the newest block then.
  const third = await start({ DEVNODE_BLOCK_MS: '5000' });
  using later = await createNodeClient(`127.0.0.1:${port}`);
  expect((await later.call('cosmos.tx.v1beta1.Service', 'GetTx', { hash: txhash })).code).toBe(0);
  third.kill();
  await third.exited;
});
