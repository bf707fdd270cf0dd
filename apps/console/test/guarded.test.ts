import { afterAll, beforeAll, expect, test } from 'vitest';
import { say, startConversation } from './chat-scenarios.ts';
import { findBarriers, keepPicture, openPage, startTestConsole, type TestConsole } from './start-console.ts';

let palaver: TestConsole;

beforeAll(async () => {
  palaver = await startTestConsole({
    OPERATOR_TOKEN: 'the-operators-token',
    USSD_SHARED_SECRET: 'the-gateway-secret',
    CREDITS_ENABLED: 'true',
    CREDITS_FREE: '1',
    CREDITS_RESERVATION: '1',
    CREDITS_PRICES: '{"*":{"input":100,"output":100}}',
  });
}, 120_000);

afterAll(() => palaver[Symbol.asyncDispose]());

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
  await expect.poll(() => log.getByText('And again').count(), { timeout: 10_000 }).toBe(1);
  await expect.poll(() => log.getByRole('listitem').count(), { timeout: 10_000 }).toBe(4);
});
