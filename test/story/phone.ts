import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createGatewayClient, createSigningAccount, toEvaluateClaim } from '@palaver/protocol';
import { openStore } from '@palaver/store';
import { freePort, startProcess, waitFor } from '@palaver/test-kit';
import { createInvocation, createSigner } from '@palaver/ucan';
import { expect } from 'vitest';
import type { UssdTables } from '../../services/ussd/src/store/tables.ts';
import { readBooks } from '../../services/ussd/test/read-books.ts';
import { testKey } from '../../services/ussd/test/service-fixture.ts';
import type { World } from './start-world.ts';

const main = join(import.meta.dirname, '../../services/ussd/src/main.ts');
const admin = 'ixo1lrwx36agqruf2tlp6jzr9snsee09ksrvue5j3j';

/** A phone reports, the report becomes a claim, its reward shows on the phone and is paid out, whenever the service is killed. */
export async function walkPhoneStory({
  dir,
  url: gatewayUrl,
  access,
  payer,
  amountOf,
  transact,
}: World): Promise<void> {
  const client = createGatewayClient(access);
  const databaseUrl = `file:${join(dir, 'phone.db')}`;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const start = async () => {
    const child = startProcess(process.execPath, [main], {
      env: {
        PORT: String(port),
        DATA_DIR: join(dir, 'ussd'),
        DATABASE_URL: databaseUrl,
        PIN_ENCRYPTION_KEY: testKey,
        GATEWAY_URL: gatewayUrl,
        GATEWAY_API_KEY: access.apiKey,
        GATEWAY_PREFIX: access.prefix,
        CLAIMS_COLLECTION: '1',
        CLAIMS_INTERVAL_SECONDS: '0',
        CLAIMS_SCHEDULER_SECRET: 'sixteen characters',
        PAYOUT_DAILY_LIMIT: '2000000uixo',
        // The story asks more often than one caller would.
        RATE_LIMIT_PER_MINUTE: '100000',
      },
      cwd: dir,
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
  const say = async (sessionId: string, text: string, phoneNumber = '+254700000001') => {
    const body = { sessionId, serviceCode: '*1234#', phoneNumber, text };
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
  const listClaims = async (status: string) => {
    const listed = await fetch(`${url}/api/ussd/claims?status=${status}`);
    return ((await listed.json()) as { claims: { id: string; source: string }[] }).claims;
  };
  const claims = await listClaims('submitted');
  expect(claims).toHaveLength(1);
  const claimId = claims[0]?.id ?? '';
  expect(await client.get(`/ixo/claims/claim/${claimId}`)).toMatchObject({
    ok: true,
    value: { claim: { claim_id: claimId, collection_id: '1' } },
  });

  const evaluator = await createSigningAccount(randomBytes(32).toString('hex'), { fee: '0uixo', gas: 300_000 });
  const evaluate = (id: string, isApproved: boolean) => {
    const by = { agentDid: 'did:x:e', agentAddress: evaluator.address, adminAddress: admin, oracle: 'did:x:o' };
    return transact(evaluator, toEvaluateClaim({ claimId: id, collectionId: '1', ...by, isApproved }), '');
  };
  await evaluate(claimId, true);
  await killAndStart();
  await processUntil('paid');
  await killAndStart();
  expect(await say('l2', '2*2*4071*2')).toContain('paid 2.5 IXO');

  // The books of the chain: what the collection paid is what the agent and the evaluator have.
  expect([await amountOf(payer), await amountOf(evaluator.address)]).toEqual([97_000_000, 500_000]);

  // A report that the evaluator rejects brings nothing.
  expect(await say('p2', '3*1*7*4071')).toContain('Your report is filed.');
  await processUntil('submitted');
  const [rejected] = await listClaims('submitted');
  await evaluate(rejected?.id ?? '', false);
  await killAndStart();
  await processUntil('rejected');
  expect(await say('l3', '2*2*4071*2')).toContain('rejected');

  // The reward goes to wallets: 1.5 to the own, 0.5 to that of another phone, and no more in a day.
  const [own, bens] = [await linkWallet(url, say), await linkWallet(url, say, '+254700000002')];
  const order = '2*2*4071*6*3*1.5*4071';
  const ordered = await say('pay', order);
  expect(ordered).toContain('1.5 IXO is on its way');
  await killAndStart();
  expect(await say('pay', order)).toBe(ordered);
  await process_();
  await killAndStart();
  const paidOut = (address: string, amount: number) =>
    waitFor('the payment', async () => {
      await process_();
      return (await amountOf(address)) === amount;
    });
  await paidOut(own, 1_500_000);
  expect(await say('much', '2*2*4071*6*3*9*4071')).toContain('You do not have that much.');
  expect(await say('day', '2*2*4071*6*3*1*4071')).toContain('more than you can send in a day');
  expect(await say('ben', '2*2*4071*6*4*0700000002*0.5*4071')).toContain('0.5 IXO is on its way');
  await killAndStart();
  await paidOut(bens, 500_000);
  let looks = 0;
  await waitFor('both to be known as sent', async () => {
    await process_();
    looks += 1;
    // A new call each time: a repeated request gets the reply of the first.
    return (await say(`list${looks}`, '2*2*4071*6*5')).match(/: sent/g)?.length === 2;
  });
  service.kill();
  await service.exited;
  const store = await openStore<UssdTables>(databaseUrl);
  const books = Object.entries(await readBooks(store.db)).sort();
  expect(books.map(([id, balance]) => [id.replace(/[0-9a-f-]{36}/, 'ana'), balance])).toEqual([
    ['holder:ana:uixo', '500000'],
    ['system:paid:uixo', '2000000'],
    ['system:rewards:uixo', '-2500000'],
    ['system:transit:uixo', '0'],
  ]);
  await store.close();
}

/** Registers a phone where it has no account, and links a new wallet to it by the code of its page. */
async function linkWallet(
  url: string,
  say: (sessionId: string, text: string, phone?: string) => Promise<string>,
  phone?: string,
): Promise<string> {
  if (phone) await say(`r${phone}`, '2*1*Ben*4071*4071', phone);
  const { address } = await createSigningAccount(randomBytes(32).toString('hex'), { fee: '0uixo', gas: 1 });
  const { audience } = (await (await fetch(`${url}/api/ussd/links`)).json()) as { audience: string };
  const capability = { can: 'oracle/link', with: audience, nb: { address } };
  const { serialized } = await createInvocation({ issuer: await createSigner(), audience, capability });
  const headers = { 'content-type': 'application/json', 'x-auth-type': 'ucan', authorization: `Bearer ${serialized}` };
  const reply = await fetch(`${url}/api/ussd/links`, { method: 'POST', headers, body: JSON.stringify({ address }) });
  const { code } = (await reply.json()) as { code: string };
  expect(await say(`l${address}`, `2*2*4071*6*1*${code}*4071`, phone)).toContain('Linked to');
  return address;
}
