// A user pays on the chain and is let in, without an operator; the agent is killed in between.
import { openStore } from '@palaver/store';
import { waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { createAgentInstances } from './start-agent-process.ts';
import { startPaymentChain } from './start-payment-chain.ts';
import type { TestUser } from './test-agent.ts';

test('chat until 402, pay on the chain, continue; every coin is booked once, whenever the agent is killed', async () => {
  await using chain = await startPaymentChain();
  const { pay, payTo } = chain;
  await using instances = await createAgentInstances('sqlite', {
    CREDITS_ENABLED: 'true',
    CREDITS_FREE: '1',
    CREDITS_RESERVATION: '1',
    CREDITS_CLAIM: '2',
    CREDITS_PRICES: '{"*":{"input":0,"output":0}}', // every answer costs one credit
    CREDITS_PAY_TO: payTo,
    CREDITS_PRICE: '100uixo',
    CREDITS_POLL_MS: '100',
    ...chain.env,
    CREDITS_SUBSCRIPTION: '{"days":30,"allowance":50,"price":"1000uixo"}',
  });
  let agent = await instances.start();
  const killAndStart = async () => {
    agent.process.kill('SIGKILL');
    await agent.process.exited;
    agent = await instances.start();
  };
  const sessionId = await agent.user.createSession();
  const say = async (user: TestUser = agent.user) => (await user.say(sessionId, 'hello')).status;
  const credit = async () => (await agent.user.send('GET', '/credits')).body;
  const balanceIs = (balance: number) =>
    waitFor(`a balance of ${balance}`, async () => (await credit()).balance === balance);

  expect((await agent.user.send('GET', '/credits/terms')).body).toMatchObject({
    address: payTo,
    price: { denom: 'uixo', amount: '100' },
    subscription: { days: 30, allowance: 50, price: { amount: '1000' } },
  });
  expect([await say(), await say()]).toEqual([200, 402]);
  const [claim] = (await credit()).claims;
  agent.process.kill('SIGKILL');
  await agent.process.exited;
  await pay(230, `claims ${claim.claimId}`); // a claim of 2 credits, and 30 too many for none
  agent = await instances.start();
  await balanceIs(2);
  await killAndStart();
  expect([await say(), await say(), await say()]).toEqual([200, 200, 402]);

  // Too little for the next claim: credit as far as it goes.
  const [next] = (await credit()).claims;
  await pay(100, `claims ${next.claimId}`);
  await balanceIs(1);
  // Too much, for a claim that nobody is asked for any more.
  await pay(500, `claims ${claim.claimId}`);
  await balanceIs(6);
  await pay(1_000, `subscribe ${agent.user.did}`);
  await balanceIs(56);
  expect((await credit()).subscription).toMatchObject({ allowance: 50, used: 0 });
  await pay(77, 'for tea');
  await pay(300, `top-up ${agent.user.did}`);
  await balanceIs(59);
  expect(await say()).toBe(200);
  expect((await credit()).subscription).toMatchObject({ allowance: 50, used: 1 });
  await killAndStart();
  agent.process.kill();
  await agent.process.exited;

  // The books: all that reached the address is written down, and what was booked balances to the unit.
  const store = await openStore<Record<string, Record<string, string | number>>>(instances.databaseUrl);
  const payments = await store.db.selectFrom('agent_credit_payment').selectAll().orderBy('height').execute();
  expect(payments.map(({ amount, credits, rest, status }) => [amount, credits, rest, status])).toEqual([
    ['230uixo', 2, '30', 'booked'],
    ['100uixo', 1, '0', 'booked'],
    ['500uixo', 5, '0', 'booked'],
    ['1000uixo', 10, '0', 'booked'],
    ['77uixo', 0, '77', 'dust'],
    ['300uixo', 3, '0', 'booked'],
  ]);
  const entries = await store.db.selectFrom('agent_credit_entry').selectAll().execute();
  const sumOf = (account: string) =>
    entries.filter((entry) => entry.account_id === account).reduce((sum, { amount }) => sum + Number(amount), 0);
  expect(entries.reduce((sum, { amount }) => sum + Number(amount), 0)).toBe(0);
  // 2 + 1 + 5 + 3 credits, and the allowance of 50.
  expect(sumOf('system:payments')).toBe(-61);
  expect(sumOf(`user:${agent.user.did}`) + sumOf('system:revenue') + sumOf('system:grants')).toBe(61);
  await store.close();
});
