// A page and a phone: the page's user types its code on the phone.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openStore } from '@palaver/store';
import { engines } from '@palaver/test-kit';
import { createInvocation, createSigner } from '@palaver/ucan';
import { expect, test } from 'vitest';
import type { UssdTables } from '../src/store/tables.ts';
import { register, startService, type TestService } from './service-fixture.ts';

const address = 'ixo1rvqvzf99azcyjtsawm3m6cqhqwl0gjml2tr2lf';

/** A gateway that answers some paths; the others are unreachable. */
async function startGateway(answers: Record<string, unknown>) {
  const server = createServer((request, response) => {
    const answer = answers[new URL(request.url ?? '/', 'http://x').pathname];
    const headers = { 'content-type': 'application/json' };
    response.writeHead(answer ? 200 : 503, headers).end(JSON.stringify(answer ?? { code: 14 }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) };
}

const page = await createSigner();

interface Asked {
  body?: { address?: string };
  audience?: string;
  named?: string;
}

async function makeInvocation(service: TestService, { audience, named = address }: Asked = {}): Promise<string> {
  const { audience: own } = (await (await fetch(`${service.url}/api/ussd/links`)).json()) as { audience: string };
  const capability = { can: 'oracle/link', with: own, ...(named && { nb: { address: named } }) };
  return (await createInvocation({ issuer: page, audience: audience ?? own, capability })).serialized;
}

async function askForCode(service: TestService, asked: Asked = {}, invocation?: string) {
  const links = `${service.url}/api/ussd/links`;
  const serialized = invocation ?? (await makeInvocation(service, asked));
  const { body = { address } } = asked;
  const headers = { 'content-type': 'application/json', 'x-auth-type': 'ucan', authorization: `Bearer ${serialized}` };
  const response = await fetch(links, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as { code: string; did: string } };
}

const claim = (id: string, date: string, more: object = {}) => {
  return { claim_id: id, agent_did: '', agent_address: address, submission_date: date, evaluation: null, ...more };
};

test('a code of the page links the account once, and the phone shows what can be had of the wallet', async () => {
  await using gateway = await startGateway({
    '/cosmos/base/tendermint/v1beta1/syncing': { syncing: false },
    '/ixo/claims/claims': {
      claims: [
        claim('bafy-aaaaaa', '2026-01-02T00:00:00Z', { evaluation: { status: 'REJECTED' } }),
        claim('bafy-bbbbbb', '2026-03-01T00:00:00Z', { agent_address: 'ixo1other', agent_did: page.did() }),
        claim('bafy-cccccc', '2026-02-01T00:00:00Z', {
          evaluation: { status: 'APPROVED' },
          payments_status: { approval: 'PAID' },
        }),
        claim('bafy-dddddd', '2026-04-01T00:00:00Z', { agent_address: 'ixo1other' }),
      ],
    },
  });
  await using service = await startService('sqlite', { GATEWAY_URL: gateway.url });
  await register(service, 'r');
  expect(await service.say('n', '2*2*4071*6*2')).toContain('Your wallet has no claims.');

  const unsigned = await fetch(`${service.url}/api/ussd/links`, { method: 'POST' });
  expect([unsigned.status, ((await unsigned.json()) as { code: string }).code]).toEqual([401, 'UCAN_MISSING']);
  expect((await askForCode(service, { audience: (await createSigner()).did() })).status).toBe(401);
  expect((await askForCode(service, { body: {}, named: '' })).status).toBe(400); // a did:key has to name its address
  const first = (await askForCode(service)).body.code;
  const { status, body } = await askForCode(service);
  expect({ status, body }).toMatchObject({
    status: 201,
    body: { did: page.did(), code: expect.stringMatching(/^\d{8}$/) },
  });

  // An earlier code of the same page is no code any more; a wrong PIN uses nothing up.
  expect(await service.say('l', `2*2*4071*6*1*${first}`)).toContain('No wallet has this code.');
  expect(await service.say('l', `2*2*4071*6*1*${first}*1*${body.code}`)).toContain(
    'Link this account to ixo1rv...2tr2lf?',
  );
  expect(await service.say('l', `2*2*4071*6*1*${first}*1*${body.code}*9999`)).toContain('Wrong PIN.');
  expect(await service.say('l', `2*2*4071*6*1*${first}*1*${body.code}*9999*4071`)).toContain(
    'Linked to ixo1rv...2tr2lf.',
  );
  expect(await service.say('u', `2*2*4071*6*1*${body.code}`)).toContain('No wallet has this code.');

  expect(await service.say('s', '2*2*4071*1')).toContain(
    'Balance: not available now\nClaims: 3, approved: 1\nTokens: not available now',
  );
  expect(await service.say('c', '2*2*4071*6*2')).toContain(
    'Newest claims:\n2026-03-01 bbbbbb: submitted\n2026-02-01 cccccc: paid\n2026-01-02 aaaaaa: rejected',
  );
  const audit = (await (await service.get('/api/ussd/audit?limit=100')).json()) as { lines: { action: string }[] };
  const actions = audit.lines.map(({ action }) => action).filter((action) => /link/.test(action));
  expect(actions.toReversed()).toEqual(['link.refused', 'account.linked', 'link.refused']);
});

test('a linked wallet is announced at the next dial', async () => {
  await using service = await startService();
  await register(service, 'r');
  const { code } = (await askForCode(service)).body;
  expect(await service.say('l', `2*2*4071*6*1*${code}*4071`)).toContain('Linked to');
  expect(await service.say('n', '')).toMatch(/^CON A wallet was linked to your account on \d{4}-\d\d-\d\d\. Not you\?/);
});

test('strangers who make keys of their own leave no lines in the audit log', async () => {
  await using service = await startService();
  expect((await askForCode(service)).status).toBe(201);
  const audit = (await (await service.get('/api/ussd/audit')).json()) as { lines: { action: string }[] };
  expect(audit.lines.filter(({ action }) => action !== 'operator.read')).toEqual([]);
});

test.each(engines)('an invocation is valid for one code of the address that it names (%s)', async (engine) => {
  await using service = await startService(engine);
  const other = 'ixo1xf7u84m7fs39crd95d5mdzn0uwgnsqzh54y74e';
  const invocation = await makeInvocation(service);
  expect(await askForCode(service, { body: { address: other } }, invocation)).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('Name the address in the invocation') },
  });
  expect((await askForCode(service, { named: '' })).status).toBe(400);
  const answers = await Promise.all(Array.from({ length: 4 }, () => askForCode(service, { body: {} }, invocation)));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 401, 401, 401]);
  expect(answers.find(({ status }) => status === 201)?.body).toMatchObject({ did: page.did(), address });
});

test('codes expire, and five a day can be tried', async () => {
  await using service = await startService();
  await register(service, 'r');
  const { code } = (await askForCode(service)).body;
  const store = await openStore<{ ussd_link: { expires_at: number } }>(service.databaseUrl);
  await service.say('e', `2*2*4071*6*1*${code}`);
  await store.db.updateTable('ussd_link').set({ expires_at: 1 }).execute();
  await store.close();
  expect(await service.say('e', `2*2*4071*6*1*${code}*4071`)).toContain('The code has expired.');
  for (const session of ['1', '2', '3', '4'])
    expect(await service.say(session, '2*2*4071*6*1*12345678')).toContain('No wallet has this code.');
  const next = (await askForCode(service)).body.code;
  expect(await service.say('5', `2*2*4071*6*1*${next}`)).toContain('Too many codes today.');
});

test('rewards are sent to a phone number without showing its wallet, and five numbers a day can be tried', async () => {
  const paying = { GATEWAY_URL: 'http://127.0.0.1:1', CLAIMS_COLLECTION: '1', CLAIMS_INTERVAL_SECONDS: '0' };
  await using service = await startService('sqlite', { ...paying, PAYOUT_DAILY_LIMIT: '9000uixo' });
  const ben = '+254700000002';
  await register(service, 'r');
  await register(service, 'b', { phoneNumber: ben });
  const store = await openStore<Pick<UssdTables, 'ussd_account' | 'ussd_money_account'>>(service.databaseUrl);
  const ana = await store.db
    .selectFrom('ussd_account')
    .select('id')
    .where('phone', '<>', ben)
    .executeTakeFirstOrThrow();
  await store.db
    .insertInto('ussd_money_account')
    .values({ id: `holder:${ana.id}:uixo`, balance: '9000' })
    .execute();
  const setAddress = (value: string) =>
    store.db.updateTable('ussd_account').set({ address: value }).where('phone', '=', ben).execute();

  await setAddress('[unreadable]');
  expect(await service.say('1', '2*2*4071*6*4*0700000002')).toContain('This number has no linked wallet.');
  await setAddress(address);
  expect(await service.say('2', '2*2*4071*6*4*0700000002')).toContain(`To ${ben}. You can send 0.009 IXO now.`);
  expect(await service.say('2', '2*2*4071*6*4*0700000002*0.005')).toContain(`Send 0.005 to ${ben}?`);
  expect(await service.say('2', '2*2*4071*6*4*0700000002*0.005*4071')).toContain('0.005 IXO is on its way');
  expect(await service.say('l', '2*2*4071*6*5')).toContain('0.005 IXO to another wallet: on its way');
  for (const session of ['3', '4', '5'])
    expect(await service.say(session, '2*2*4071*6*4*0700000003')).toContain('This number has no linked wallet.');
  expect(await service.say('6', '2*2*4071*6*4*0700000002')).toContain('Too many numbers today.');
  await store.close();
});
