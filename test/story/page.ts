import { randomBytes } from 'node:crypto';
import { createGatewayClient, createSigningAccount, toSend } from '@palaver/protocol';
import { openStore } from '@palaver/store';
import { launchBrowser, waitFor } from '@palaver/test-kit';
import { type Capability, createDelegation } from '@palaver/ucan';
import { expect } from 'vitest';
import { answerOf, ask } from '../../packages/agent/test/ask-approval.ts';
import { collectFrames, type Frame } from '../../packages/agent/test/read-frames.ts';
import { createAgentInstances } from '../../packages/agent/test/start-agent-process.ts';
import { createTestUser } from '../../packages/agent/test/test-agent.ts';
import { buildPage } from '../../packages/oracles-client-sdk/test/build-page.ts';
import { serveFiles } from '../../packages/oracles-client-sdk/test/serve-files.ts';
import { toSendGrant } from '../../packages/protocol/test/to-send-grant.ts';
import type { World } from './start-world.ts';

interface Send {
  value: { fromAddress: string; toAddress: string; amount: { denom: string; amount: string }[] };
}

/** Presses Pay on a page of the client library, in a browser, and waits until it says that it is done. */
async function payOnPage(
  params: Record<string, string>,
  address: string,
  broadcast: (messages: [Send], memo: string) => Promise<void>,
): Promise<void> {
  const site = await serveFiles(await buildPage(19));
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    await page.exposeFunction('transact', async (messages: [Send], memo: string) => {
      await broadcast(messages, memo);
      return { code: 0 };
    });
    await page.goto(`${site.url}?${new URLSearchParams({ ...params, address })}`);
    await page.getByRole('button', { name: 'Pay' }).click();
    const contract = page.locator('#contract');
    await expect.poll(() => contract.textContent(), { timeout: 120_000 }).toMatch(/^ ?(done|free|error)/);
    expect(await contract.textContent()).toMatch(/^ ?done /);
  } finally {
    await browser.close();
    await site.close();
  }
}

/**
 * Ana chats on a page until 402, pays on the node and is let in; the agent sends tokens and submits a claim in her name, with
 * a delegation that expires in the middle and is renewed, whenever the agent is killed.
 */
export async function walkPageStory({ url: gatewayUrl, access, ana, eve, amountOf, transact }: World): Promise<void> {
  const createAccount = () => createSigningAccount(randomBytes(32).toString('hex'), { fee: '0uixo', gas: 300_000 });
  const [{ address: payTo }, { address: shop }] = [await createAccount(), await createAccount()];
  const limits = { denom: 'uixo', perCall: '3000', perDay: '5000' };
  await using instances = await createAgentInstances('sqlite', {
    GATEWAY_URL: gatewayUrl,
    GATEWAY_API_KEY: access.apiKey,
    GATEWAY_PREFIX: access.prefix,
    CREDITS_ENABLED: 'true',
    CREDITS_FREE: '1',
    CREDITS_RESERVATION: '1',
    CREDITS_CLAIM: '20',
    CREDITS_PRICES: '{"*":{"input":0,"output":0}}', // every answer costs one credit
    CREDITS_PAY_TO: payTo,
    CREDITS_PRICE: '100uixo',
    CREDITS_POLL_MS: '100',
    ACTIONS_ENABLED: 'true',
    SEND_LIMIT_PER_CALL: '3000uixo',
    SEND_LIMIT_PER_DAY: '5000uixo',
  });
  let agent = await instances.start();
  const user = await createTestUser({ url: () => agent.url, audience: instances.did, signer: ana.signer });
  const kill = async () => {
    agent.process.kill('SIGKILL');
    await agent.process.exited;
  };
  const killAndStart = async () => {
    await kill();
    agent = await instances.start();
  };
  const grant = async (capability: Capability, lifetimeSeconds = 3600) => {
    const options = { issuer: ana.signer, audience: instances.did, capabilities: [capability], lifetimeSeconds };
    const { serialized: raw, expiresAt } = await createDelegation(options);
    expect((await user.send('POST', '/delegation', { raw })).status).toBe(200);
    return expiresAt;
  };
  const sessionId = await user.createSession();
  const say = async () => (await user.say(sessionId, 'hello')).status;
  /** Sends a message whose tool waits, and kills the agent. */
  const askAndKill = async (message: string): Promise<Frame['data']> => {
    const { asked, frames } = await ask(user, sessionId, message);
    void frames.next().catch(() => undefined);
    await killAndStart();
    return asked;
  };
  const waitsFor = (what: string, test: (approval: { capability?: Capability }) => boolean) =>
    waitFor(what, async () => {
      const run = (await user.liveRun(sessionId)) as {
        status: string;
        approvals?: { capability?: Capability }[];
      } | null;
      return run?.status === 'waiting' && run.approvals?.some(test);
    });
  const endOf = async ({ runId }: Frame['data']) => {
    const frames = await collectFrames(await user.follow(runId));
    expect(frames.at(-1)?.data.status).toBe('complete');
    return frames.findLast(({ event, data }) => event === 'tool_call' && data.status !== 'isRunning')?.data;
  };

  // A page chats until 402, pays on the node, and is let in without an operator.
  expect([await say(), await say()]).toEqual([200, 402]);
  const [claim] = (await user.send('GET', '/credits')).body.claims;
  await payOnPage(
    { url: agent.url, did: instances.did, user: ana.did, key: ana.signer.toSecret(), claims: claim.claimId },
    ana.account.address,
    async ([{ value }], memo) => {
      // The agent is unreachable when the payment arrives, and books it after its restart.
      await kill();
      const { fromAddress: from, toAddress: to, amount: coins } = value;
      await transact(ana.account, toSend({ from, to, coins }), memo);
      agent = await instances.start({ PORT: new URL(agent.url).port });
    },
  );
  expect((await user.send('GET', '/credits')).body).toMatchObject({ balance: 20, claims: [] });
  await killAndStart();
  expect(await say()).toBe(200);

  // The chain lets the agent's account send Ana's coins; her delegation lets the agent do so for her.
  const { address: agentAddress, send } = (await user.send('GET', '/actions/terms')).body;
  expect(send).toEqual(limits);
  const expiresAt = new Date(Date.now() + 86_400_000);
  const limit = [{ denom: 'uixo', amount: '100000' }];
  await transact(
    ana.account,
    toSendGrant({ granter: ana.account.address, grantee: agentAddress, limit, expiresAt }),
    ana.did,
  );
  const sending = { can: 'tokens/send', with: ana.did, nb: limits };
  const pay = (amount: string) => `/tool send_tokens ${JSON.stringify({ to: shop, amount })}`;

  // Eve's document names Ana's account too. What Ana granted is not hers.
  const thief = await createTestUser({ url: () => agent.url, audience: instances.did, signer: eve.signer });
  const capabilities = [{ ...sending, with: eve.did }];
  const stolen = { issuer: eve.signer, audience: instances.did, capabilities, lifetimeSeconds: 60 };
  await thief.send('POST', '/delegation', { raw: (await createDelegation(stolen)).serialized });
  const theft = await ask(thief, await thief.createSession(), pay('3000'));
  await answerOf(thief, theft.asked, true);
  const refused = (await collectFrames(await thief.follow(theft.asked.runId))).findLast(
    ({ event, data }) => event === 'tool_call' && data.status !== 'isRunning',
  );
  expect(refused?.data.error).toContain(`with the memo ${eve.did}`);

  // The delegation expires while the run waits for the approval; a new one is asked for, and the tokens are sent once.
  const end = await grant(sending, 2);
  const first = await askAndKill(pay('3000'));
  expect(first.capability).toBeUndefined();
  await waitFor('the delegation to expire', () => Date.now() / 1000 > end);
  expect((await answerOf(user, first, true)).status).toBe(200);
  await waitsFor('the delegation to be asked for', ({ capability }) => capability?.can === 'tokens/send');
  await killAndStart();
  expect(await amountOf(shop)).toBe(0);
  await grant(sending);
  expect(await endOf(first)).toMatchObject({ status: 'done', output: { amount: '3000' } });
  await waitFor('the tokens', async () => (await amountOf(shop)) === 3000);

  // Killed while the tool runs: the run continues, and the tokens are sent once.
  const second = await askAndKill(pay('1500'));
  await answerOf(user, second, true);
  await waitFor('the order', async () => (await user.send('GET', '/actions')).body.actions.length === 2);
  await killAndStart();
  expect(await endOf(second)).toMatchObject({ status: 'done', output: { amount: '1500' } });
  await waitFor('the tokens', async () => (await amountOf(shop)) === 4500);

  // More than the limits of a call and of a day is not sent.
  const { message } = (await user.say(sessionId, pay('3001'))).body;
  expect(message.toolCalls).toMatchObject([{ error: expect.stringContaining('is more than 3000') }]);
  const third = await askAndKill(pay('501'));
  await answerOf(user, third, true);
  expect((await endOf(third))?.error).toBe('TOOL_FAILED: the user can send 5000 uixo in 24 hours, and this is more');

  // A claim in her name: the run waits for a delegation of that collection.
  const filed = await askAndKill('/tool submit_claim {"collection":"1","content":{"trees":12}}');
  const capability = { can: 'claims/submit', with: ana.did, nb: { collection: '1' } };
  expect(filed.capability).toEqual(capability);
  await grant(capability);
  const { output } = (await endOf(filed)) ?? {};
  expect(output).toMatchObject({ claimId: expect.any(String) });
  const chain = createGatewayClient(access);
  const path = `/ixo/claims/claim/${output.claimId}`;
  await waitFor('the claim', async () => (await chain.get(path)).ok);
  expect(await chain.get(path)).toMatchObject({
    value: { claim: { agent_did: ana.did, agent_address: agentAddress } },
  });
  await waitFor('the last order to be settled', async () => {
    const { actions } = (await user.send('GET', '/actions')).body as { actions: { status: string }[] };
    return actions.length === 3 && actions.every(({ status }) => status === 'included');
  });

  const operators = await fetch(`${agent.url}/actions/transactions?status=included`);
  expect(((await operators.json()) as { transactions: object[] }).transactions).toHaveLength(3);

  // The books, on the chain and here, to the unit.
  expect([await amountOf(payTo), await amountOf(shop)]).toEqual([2000, 4500]);
  expect(await amountOf(ana.account.address)).toBe(1_000_000 - 2000 - 4500);
  agent.process.kill();
  await agent.process.exited;
  const store = await openStore<Record<string, Record<string, string | number>>>(instances.databaseUrl);
  const entries = await store.db.selectFrom('agent_credit_entry').select('amount').execute();
  expect(entries.reduce((sum, { amount }) => sum + Number(amount), 0)).toBe(0);
  const payments = await store.db.selectFrom('agent_credit_payment').selectAll().execute();
  expect(payments).toMatchObject([{ amount: '2000uixo', credits: 20, status: 'booked' }]);
  const sent = await store.db.selectFrom('agent_action').select('amount').where('kind', '=', 'send').execute();
  expect(sent.map(({ amount }) => amount).toSorted()).toEqual(['1500', '3000']);
  await store.close();
}
