// What users pay for becomes claims on the chain, once, whenever the agent is killed; what is rejected is given back.
import { openStore } from '@palaver/store';
import { waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { createAgentInstances } from './start-agent-process.ts';
import { startPaymentChain } from './start-payment-chain.ts';
import { createTestUser, request } from './test-agent.ts';

const secret = 'sixteen characters';

test('usage is claimed once, approved usage stays paid, and rejected usage is refunded; the books sum to 0', async () => {
  await using chain = await startPaymentChain();
  await using instances = await createAgentInstances('sqlite', {
    CREDITS_ENABLED: 'true',
    CREDITS_FREE: '10',
    CREDITS_RESERVATION: '5',
    ...chain.env,
    CREDITS_PRICES: '{"*":{"input":0,"output":0}}', // every answer costs one credit
    USAGE_COLLECTION: '1',
    USAGE_PERIOD_SECONDS: '1',
    CLAIMS_INTERVAL_SECONDS: '0',
    CLAIMS_SCHEDULER_SECRET: secret,
  });
  let agent = await instances.start();
  const killAndStart = async () => {
    agent.process.kill('SIGKILL');
    await agent.process.exited;
    agent = await instances.start();
  };
  const [ana, ben] = await Promise.all(
    [1, 2].map(() => createTestUser({ url: () => agent.url, audience: instances.did })),
  );
  if (!ana || !ben) throw new Error('there are two users');
  const sayTimes = async (user: typeof ana, times: number) => {
    const sessionId = await user.createSession();
    for (let said = 0; said < times; said += 1) expect((await user.say(sessionId, 'hello')).status).toBe(200);
  };
  const process = async (headers: Record<string, string> = { 'x-scheduler-secret': secret }) =>
    request(`${agent.url}/claims/process`, { method: 'POST', headers });
  const processUntil = (counts: Record<string, number>) =>
    waitFor(`claims of ${JSON.stringify(counts)}`, async () => {
      const { claims } = (await process()).body;
      return Object.entries(counts).every(([status, count]) => claims[status] === count);
    });
  const list = async (status: string) => (await request(`${agent.url}/claims?status=${status}`)).body.claims;

  await sayTimes(ana, 3);
  await sayTimes(ben, 1);
  const outside = { 'x-scheduler-secret': 'another of sixteen', 'x-forwarded-for': '192.0.2.1' };
  expect((await process(outside)).status).toBe(401);
  // The period may end between two answers; what is claimed stays claimed once.
  await waitFor('all usage to be claimed', async () => {
    await process();
    const rows = [...(await list('sending')), ...(await list('submitted'))];
    return rows.reduce((sum, { credits }) => sum + credits, 0) === 4;
  });
  await killAndStart();
  await waitFor('no claim to wait', async () => !(await process()).body.claims.sending);
  const submitted = (await list('submitted')) as { claimId: string; credits: number; content: { messages: number } }[];
  expect(submitted.reduce((sum, { credits }) => sum + credits, 0)).toBe(4);
  expect(submitted.every(({ credits, content }) => content.messages === credits)).toBe(true);
  expect(JSON.stringify(submitted)).not.toMatch(/did:key/);
  for (const { claimId } of submitted)
    expect(await chain.client.get(`/ixo/claims/claim/${claimId}`)).toMatchObject({
      value: { claim: { agent_did: instances.did, collection_id: '1' } },
    });

  const [first, ...others] = submitted.toSorted((a, b) => b.credits - a.credits);
  if (!first) throw new Error('there are claims');
  await chain.evaluate(first.claimId, false);
  for (const { claimId } of others) await chain.evaluate(claimId, true);
  await killAndStart();
  await processUntil({ rejected: 1, paid: others.length });
  await killAndStart();
  expect((await process()).body.claims).toEqual({ rejected: 1, paid: others.length });
  const transactions = async (headers = {}) => request(`${agent.url}/claims/transactions?status=included`, { headers });
  expect((await transactions()).body.transactions).toHaveLength(submitted.length);
  expect((await transactions({ 'x-forwarded-for': '192.0.2.1' })).status).toBe(401);
  const balances = await Promise.all([ana, ben].map(async (user) => (await user.send('GET', '/credits')).body.balance));
  expect(balances[0] + balances[1]).toBe(20 - 4 + first.credits);
  agent.process.kill();
  await agent.process.exited;

  const store = await openStore<Record<string, Record<string, string | number>>>(instances.databaseUrl);
  const entries = await store.db.selectFrom('agent_credit_entry').selectAll().execute();
  const sumOf = (prefix: string) =>
    entries
      .filter((entry) => String(entry.account_id).startsWith(prefix))
      .reduce((sum, { amount }) => sum + Number(amount), 0);
  expect([sumOf(''), sumOf('held:'), sumOf('system:grants')]).toEqual([0, 0, -20]);
  expect(sumOf('system:revenue')).toBe(others.reduce((sum, { credits }) => sum + credits, 0));
  await store.close();
});
