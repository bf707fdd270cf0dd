import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { say, startConversation } from './chat-scenarios.ts';
import { findBarriers, keepPicture, openPage, startTestConsole, type TestConsole } from './start-console.ts';

let palaver: TestConsole;
let homeserver: Server;
const fetched: string[] = [];

beforeAll(async () => {
  // As much of a Matrix homeserver as fetching one file needs.
  homeserver = createServer(({ url = '', headers }, reply) => {
    fetched.push(`${headers.authorization} ${url}`);
    reply.writeHead(200, { 'content-type': 'text/plain' }).end('The harvest was good.');
  }).listen(0, '127.0.0.1');
  await once(homeserver, 'listening');
  palaver = await startTestConsole({
    OPERATOR_TOKEN: 'the-operators-token',
    USSD_SHARED_SECRET: 'the-gateway-secret',
    MATRIX_ALLOWED_HOSTS: `127.0.0.1:${(homeserver.address() as AddressInfo).port}`,
    CREDITS_ENABLED: 'true',
    CREDITS_FREE: '1',
    CREDITS_RESERVATION: '1',
    CREDITS_PRICES: '{"*":{"input":100,"output":100}}',
  });
});

afterAll(async () => {
  await palaver[Symbol.asyncDispose]();
  homeserver.close();
});

test('where an operator token is set, operations ask for it, refuse a wrong one and open to the right one', async () => {
  await using opened = await openPage(palaver, '/operations');
  const { page } = opened;
  const field = page.getByLabel('Operator token');
  await field.fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('This operator token was refused.').waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await field.fill('the-operators-token');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Active USSD sessions' }).waitFor();
  await page.getByText('Nobody is in a session').waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Active USSD sessions' }).waitFor();
  await page.getByRole('button', { name: 'Forget the token' }).click();
  await field.waitFor();
});

test('a phone gives the telecom gateway’s secret where one is asked for', async () => {
  await using opened = await openPage(palaver, '/phone');
  const { page } = opened;
  await page.getByRole('button', { name: 'Call' }).click();
  await page.getByText('This route is for the telecom gateway.').waitFor();
  await page.getByText('Gateway secret').click();
  await page.getByLabel(/X-Gateway-Secret/).fill('the-gateway-secret');
  await page.getByRole('button', { name: 'Call' }).click();
  await page.getByText('Welcome to Palaver').first().waitFor();
  await page.getByText('The gateway shows session states to operators only.').waitFor();
});

test('used-up credit is a wall with the claims on it; settled, the message goes through', async () => {
  await using opened = await openPage(palaver, '/chat');
  const { page } = opened;
  await startConversation(page);
  const log = page.getByRole('log', { name: 'Messages' });
  await say(page, 'Good morning');
  await expect.poll(() => log.getByRole('listitem').count()).toBe(2);
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
  await say(page, 'And again');
  const wall = page.getByRole('region', { name: 'Payment required' });
  await wall.waitFor();
  expect(await wall.getByRole('listitem').count()).toBe(1);
  await keepPicture(page, 'chat-payment');
  expect(await findBarriers(page)).toEqual([]);

  await wall.getByRole('button', { name: 'Settle as operator' }).click();
  await wall.getByLabel('Operator token').fill('the-operators-token');
  await wall.getByRole('button', { name: 'Sign in' }).click();
  await wall.getByRole('button', { name: 'Settle as operator' }).click();
  await wall.waitFor({ state: 'detached' });
  await expect.poll(() => log.getByText('And again').count()).toBe(1);
  await expect.poll(() => log.getByRole('listitem').count()).toBe(4);
});

test('an attachment is fetched from the user’s homeserver with the session entered on the page', async () => {
  await using opened = await openPage(palaver, '/chat');
  const { page, complaints } = opened;
  await startConversation(page);
  await page.getByText('Matrix session, for attachments').click();
  await page.getByLabel('Homeserver').fill(`http://127.0.0.1:${(homeserver.address() as AddressInfo).port}`);
  await page.getByLabel('Access token').fill('matrix-token');
  await page.getByRole('button', { name: 'Attach from Matrix' }).click();
  await page.getByLabel('Matrix content address').fill('mxc://example.org/abc');
  await page.getByLabel('File name').fill('notes.txt');
  await page.getByRole('form', { name: 'Attachment' }).getByRole('button', { name: 'Add' }).click();
  await say(page, 'Please read this');
  const log = page.getByRole('log', { name: 'Messages' });
  await log.getByText('No language model is configured').waitFor();
  expect(fetched).toHaveLength(1);
  expect(fetched[0]).toMatch(/^Bearer matrix-token .*example\.org\/abc/);
  await page.reload();
  await log.getByText('notes.txt').waitFor();
  expect(complaints).toEqual([]);
});
