// From the phone to the chain and back, with real processes: node, gateway, and a USSD gateway that is killed in between.
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startDevnode } from '@palaver/devnode';
import { startGateway } from '@palaver/gateway';
import {
  broadcastTx,
  createGatewayClient,
  createSigningAccount,
  readAccount,
  readLatestBlock,
  toEvaluateClaim,
} from '@palaver/protocol';
import { createTempDir, freePort, startProcess, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { testKey } from './service-fixture.ts';

const main = join(import.meta.dirname, '../src/main.ts');
const admin = 'ixo1lrwx36agqruf2tlp6jzr9snsee09ksrvue5j3j';
const payer = 'ixo1nke3x232fdp2dtw98yhd389ydfkjx87zgwwy6u';

test('a report becomes one claim, and the phone shows its approval and reward, whenever the service is killed', async () => {
  await using dir = await createTempDir();
  const coins = [{ denom: 'uixo', amount: '100000000' }];
  await writeFile(join(dir.path, 'balances.json'), JSON.stringify([{ address: payer, coins }]));
  const env = { LOG_LEVEL: 'silent', DATA_DIR: join(dir.path, 'node') };
  const node = await startDevnode({ ...env, PORT: '0', DEVNODE_SEED: dir.path, DEVNODE_BLOCK_MS: '200' });
  const keys = join(dir.path, 'keys.json');
  const sha256 = '2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683'; // of "key"
  await writeFile(keys, JSON.stringify([{ name: 'ussd', sha256 }]));
  const gateway = await startGateway({
    ...env,
    PORT: '0',
    GATEWAY_UPSTREAMS: node.address,
    GATEWAY_TX: 'true',
    GATEWAY_PREFIX: '/protocol',
    GATEWAY_AUTH: 'api-key',
    GATEWAY_API_KEYS_FILE: keys,
  });
  const access = { url: gateway.url, apiKey: 'key', prefix: '/protocol' };
  const client = createGatewayClient(access);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const start = async () => {
    const child = startProcess(process.execPath, [main], {
      env: {
        PORT: String(port),
        DATA_DIR: join(dir.path, 'ussd'),
        PIN_ENCRYPTION_KEY: testKey,
        GATEWAY_URL: gateway.url,
        GATEWAY_API_KEY: access.apiKey,
        GATEWAY_PREFIX: access.prefix,
        CLAIMS_COLLECTION: '1',
        CLAIMS_INTERVAL_SECONDS: '0',
        CLAIMS_SCHEDULER_SECRET: 'sixteen characters',
      },
      cwd: dir.path,
    });
    await waitFor('the service', async () => (await fetch(`${url}/health`).catch(() => undefined))?.ok);
    return child;
  };
  let service = await start();
  const killAndStart = async () => {
    service.kill('SIGKILL');
    await service.exited;
    service = await start();
  };
  const say = async (sessionId: string, text: string) => {
    const body = { sessionId, serviceCode: '*1234#', phoneNumber: '+254700000001', text };
    const headers = { 'content-type': 'application/json' };
    return (await fetch(`${url}/api/ussd`, { method: 'POST', headers, body: JSON.stringify(body) })).text();
  };
  const process_ = async () => {
    const headers = { 'x-scheduler-secret': 'sixteen characters' };
    const response = await fetch(`${url}/api/ussd/claims/process`, { method: 'POST', headers });
    return ((await response.json()) as { claims: Record<string, number> }).claims;
  };
  const processUntil = (status: string) =>
    waitFor(`a claim to be ${status}`, async () => (await process_())[status] === 1);

  await say('r', '2*1*Ana*4071*4071');
  expect(await say('p', '3*1*5*4071')).toContain('Your report is filed.');
  await killAndStart();
  expect(await say('l1', '2*2*4071*2')).toContain('being submitted');
  const outside = await fetch(`${url}/api/ussd/claims/process`, {
    method: 'POST',
    headers: { 'x-scheduler-secret': 'wrong', 'x-forwarded-for': '192.0.2.1' },
  });
  expect(outside.status).toBe(401);
  await process_();
  await killAndStart();
  await processUntil('submitted');
  const listed = await fetch(`${url}/api/ussd/claims?status=submitted`);
  const { claims } = (await listed.json()) as { claims: { id: string; source: string }[] };
  expect(claims).toHaveLength(1);
  const claimId = claims[0]?.id ?? '';
  expect(await client.get(`/ixo/claims/claim/${claimId}`)).toMatchObject({
    ok: true,
    value: { claim: { claim_id: claimId, collection_id: '1' } },
  });

  const evaluator = await createSigningAccount(randomBytes(32).toString('hex'), { fee: '0uixo', gas: 300_000 });
  const [latest, account] = [await readLatestBlock(client), await readAccount(client, evaluator.address)];
  if (!latest.ok || !account.ok) throw new Error('the chain can be read');
  const verdict = {
    claimId,
    collectionId: '1',
    agentDid: 'did:x:e',
    agentAddress: evaluator.address,
    adminAddress: admin,
  };
  const { bytes } = await evaluator.sign({
    ...{ messages: [toEvaluateClaim({ ...verdict, oracle: 'did:x:o', isApproved: true })], memo: '' },
    ...{ chainId: latest.chainId, ...account, timeoutHeight: latest.height + 100 },
  });
  expect(await broadcastTx(client, Buffer.from(bytes).toString('base64'))).toMatchObject({ ok: true, code: 0 });
  await killAndStart();
  await processUntil('paid');
  await killAndStart();
  expect(await say('l2', '2*2*4071*2')).toContain('paid 2.5 IXO');

  // The books of the chain: what the collection paid is what the agent and the evaluator have.
  const amountOf = async (address: string) => {
    const result = await client.get(`/cosmos/bank/v1beta1/balances/${address}/by_denom`, { query: { denom: 'uixo' } });
    return Number((result as { value: { balance: { amount: string } } }).value.balance.amount);
  };
  expect([await amountOf(payer), await amountOf(evaluator.address)]).toEqual([97_000_000, 500_000]);
  service.kill();
  await service.exited;
  await gateway.close();
  await node.close();
});
