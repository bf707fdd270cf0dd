import { createScriptedModel, createTestRuntime } from '@palaver/agent';
import { creditAccountSchema } from '@palaver/contract/internal';
import { createTempDir, engines } from '@palaver/test-kit';
import { createDelegation } from '@palaver/ucan';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { answerOf, ask } from '../../../agent/test/ask-approval.ts';
import { createBank } from '../../../agent/test/bank-plugin.ts';
import { collectFrames } from '../../../agent/test/read-frames.ts';
import { request, startTestAgent, type TestAgent, type TestUser } from '../../../agent/test/test-agent.ts';
import { createTestPlugin } from '../../../agent/test/test-plugin.ts';
import { createCreditsPlugin } from './credits.ts';

const token = 'operator-token-for-tests';
const env = {
  CREDITS_ENABLED: 'true',
  CREDITS_FREE: '3',
  CREDITS_RESERVATION: '1',
  CREDITS_CLAIM: '2',
  // Every answer costs exactly one credit.
  CREDITS_PRICES: '{"*":{"input":0,"output":0}}',
  OPERATOR_TOKEN: token,
};

describe.each(engines)('in the service on %s', (engine) => {
  let agent: TestAgent;

  beforeAll(async () => {
    agent = await startTestAgent({ engine, env });
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  const operator = (method: string, path: string, body?: object, bearer = token) =>
    request(`${agent.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${bearer}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  const creditOf = async (user: TestUser) => creditAccountSchema.parse((await user.send('GET', '/credits')).body);

  async function createSpender() {
    const user = await agent.createUser();
    const sessionId = await user.createSession();
    for (let sent = 0; sent < 3; sent += 1) expect((await user.say(sessionId, 'hello')).status).toBe(200);
    return { user, sessionId };
  }

  test('answers cost credit until it is used up; then a send is 402 before any model call', async () => {
    const { user, sessionId } = await createSpender();
    const { balance, held, claims } = await creditOf(user);
    expect([balance, held, claims]).toMatchObject([0, 0, [{ amount: 2, status: 'open' }]]);
    const before = (await user.send('GET', `/messages/${sessionId}`)).body.messages.length;
    for (const stream of [false, true]) {
      const { status, body } = await user.say(sessionId, 'hello', { stream });
      expect(status).toBe(402);
      expect(body).toMatchObject({ code: 'PAYMENT_REQUIRED', claimIds: [claims[0]?.claimId] });
      expect([body.claims, body.outstandingClaims]).toEqual([body.claimIds, body.claimIds]);
    }
    expect((await user.send('GET', `/messages/${sessionId}`)).body.messages).toHaveLength(before);
  });

  test('a turn that another process continues costs what both have used', async () => {
    await using dir = await createTempDir();
    const model = createScriptedModel([
      { toolCalls: [{ name: 'pay', args: { to: 'ben', amount: 50 } }], usage: { inputTokens: 1000, outputTokens: 7 } },
      { text: 'Paid.', usage: { inputTokens: 500, outputTokens: 3 } },
    ]);
    const prices = { CREDITS_FREE: '1000', CREDITS_PRICES: '{"*":{"input":10,"output":0}}' };
    const plugins = [createBank(`${dir.path}/paid`)];
    await using shop = await startTestAgent({ engine, plugins, model: () => model, env: { ...env, ...prices } });
    const user = await shop.createUser();
    const { asked } = await ask(user, await user.createSession(), 'pay ben');
    await shop.restart();
    await answerOf(user, asked, true);
    const frames = await collectFrames(await user.follow(asked.runId));
    expect(frames.at(-1)?.data).toMatchObject({ status: 'complete', usage: { inputTokens: 1500, outputTokens: 10 } });
    expect(await creditOf(user)).toMatchObject({ balance: 985, held: 0 });
  });

  test('a sub-agent is priced as its own model', async () => {
    const model = createScriptedModel([
      { toolCalls: [{ name: 'librarian', args: { task: 'Find Walden' } }] },
      { text: 'It is on shelf 6.' },
    ]);
    const librarian = { name: 'librarian', description: 'Finds books.', instructions: 'You are a librarian.' };
    const library = createTestPlugin({ name: 'library', getSubAgents: () => [librarian] });
    const prices = {
      CREDITS_FREE: '1000000',
      LLM_SUBAGENT_MODEL: 'small',
      CREDITS_PRICES: '{"small":{"input":1000,"output":0},"*":{"input":0,"output":0}}',
    };
    await using shop = await startTestAgent({
      engine,
      plugins: [library],
      model: () => model,
      env: { ...env, ...prices },
    });
    const user = await shop.createUser();
    await user.say(await user.createSession(), 'where is Walden?');
    expect((await creditOf(user)).balance).toBeLessThan(999_999);
  });

  test('messages at once do not count on the same credit: long prompts of many leave no debt of many', async () => {
    const prices = {
      CREDITS_FREE: '1000',
      CREDITS_RESERVATION: '50',
      CREDITS_PRICES: '{"*":{"input":100,"output":0}}',
    };
    await using shop = await startTestAgent({ engine, env: { ...env, ...prices } });
    const [one, many] = [await shop.createUser(), await shop.createUser()];
    const ask = async (user: TestUser) => user.say(await user.createSession(), 'goat '.repeat(1_600));
    expect((await ask(one)).body.message.status).toBe('complete');
    const cost = 1000 - (await creditOf(one)).balance;
    expect(cost).toBeGreaterThan(100);
    const replies = await Promise.all(Array.from({ length: 20 }, () => ask(many)));
    const answered = replies.filter(({ body }) => body.message?.status === 'complete').length;
    const { balance, held, claims } = await creditOf(many);
    const debt = claims.reduce((sum, claim) => sum + claim.debt, 0);
    expect([held, balance - debt]).toEqual([0, 1000 - answered * cost]);
    expect(debt).toBeLessThan(cost);
    expect(answered * cost).toBeLessThan(1000 + cost);
  });

  test('reads, sessions, delegations and aborts are never gated', async () => {
    const { user, sessionId } = await createSpender();
    const { serialized: raw } = await createDelegation({
      issuer: user.signer,
      audience: agent.did,
      capabilities: [{ can: 'oracle/*', with: 'ixo:oracle' }],
    });
    const calls: [string, string, object?][] = [
      ['POST', '/delegation', { raw }],
      ['GET', '/delegation'],
      ['GET', '/credits'],
      ['GET', '/sessions'],
      ['GET', `/messages/${sessionId}`],
      ['POST', '/messages/abort', { sessionId }],
      ['GET', '/memory'],
      ['POST', '/sessions', {}],
    ];
    for (const [method, path, body] of calls)
      expect((await user.send(method, path, body)).status, path).toBeLessThan(300);
  });

  test('a settled claim opens the gate, and so does a top-up', async () => {
    const { user, sessionId } = await createSpender();
    const [claim] = (await creditOf(user)).claims;
    const settled = await operator('POST', `/credits/claims/${claim?.claimId}/settle`);
    expect([settled.status, settled.body]).toMatchObject([200, { did: user.did, balance: 2, claims: [] }]);
    for (let sent = 0; sent < 2; sent += 1) expect((await user.say(sessionId, 'hello')).status).toBe(200);
    expect((await user.say(sessionId, 'hello')).status).toBe(402);
    const payment = { did: user.did, amount: 1, idempotencyKey: `pay-${user.did}` };
    for (let repeated = 0; repeated < 2; repeated += 1)
      expect((await operator('POST', '/credits/top-up', payment)).body).toMatchObject({ balance: 1, claims: [] });
    expect((await user.say(sessionId, 'hello')).status).toBe(200);
    expect((await operator('GET', `/credits/accounts/${user.did}`)).body).toEqual(await creditOf(user));
  });

  test('200 sends at once: three are answered, the rest are asked to pay, nothing is lost', async () => {
    const user = await agent.createUser();
    const sessions = await Promise.all(Array.from({ length: 40 }, () => user.createSession()));
    const sends = Array.from({ length: 200 }, (_, index) => user.say(sessions[index % 40] ?? '', 'hello'));
    const statuses = (await Promise.all(sends)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    expect(statuses.filter((status) => status === 402)).toHaveLength(197);
    expect(await creditOf(user)).toMatchObject({ balance: 0, held: 0, claims: [{ status: 'open', debt: 0 }] });
  });

  test('operators alone may book', async () => {
    const user = await agent.createUser();
    const payment = { did: user.did, amount: 1, idempotencyKey: 'k' };
    const calls: [string, string, object?][] = [
      ['POST', '/credits/top-up', payment],
      ['POST', '/credits/claims/x/settle'],
      ['GET', `/credits/accounts/${user.did}`],
    ];
    for (const [method, path, body] of calls) {
      expect((await user.send(method, path, body)).status).toBe(401);
      expect((await operator(method, path, body, 'wrong')).status).toBe(401);
    }
    expect((await creditOf(user)).balance).toBe(3);
  });

  test('what operators send is checked', async () => {
    const good = { did: 'did:key:z6Mk', amount: 1, idempotencyKey: 'k1' };
    for (const wrong of [{ did: 'x' }, { amount: 0 }, { amount: 1.5 }, { amount: -1 }, { idempotencyKey: '' }])
      expect((await operator('POST', '/credits/top-up', { ...good, ...wrong })).body.code).toBe('VALIDATION_FAILED');
    expect((await operator('POST', '/credits/claims/nothing/settle')).body.code).toBe('NOT_FOUND');
    expect((await operator('POST', '/credits/claims/a%00b/settle')).body.code).toBe('VALIDATION_FAILED');
    await operator('POST', '/credits/top-up', good);
    expect((await operator('POST', '/credits/top-up', { ...good, amount: 2 })).body).toMatchObject({
      code: 'CONFLICT',
    });
  });

  test('the price list is kept through a restart, and so is the credit', async () => {
    const { user } = await createSpender();
    await agent.restart();
    expect(await creditOf(user)).toMatchObject({ balance: 0, claims: [{ amount: 2 }] });
  });
});

test('it is loaded when asked for only, and a bad price list stops the start', async () => {
  await using agent = await startTestAgent({ env: { CREDITS_ENABLED: 'false' } });
  const user = await agent.createUser();
  expect((await user.send('GET', '/credits')).status).toBe(404);
  await expect(startTestAgent({ env: { ...env, CREDITS_PRICES: '{}' } })).rejects.toThrow(
    /plugin credits: CREDITS_PRICES="\{\}": expected JSON of credits per 1,000 tokens by model/,
  );
  await using forced = await startTestAgent({ features: { credits: true } });
  expect((await (await forced.createUser()).send('GET', '/credits')).body).toMatchObject({ balance: 1000 });
});

test('a message another plugin refuses, and a turn that fails, cost nothing; what was used is charged by tokens', async () => {
  const model = createScriptedModel([
    { text: 'a', usage: { inputTokens: 3000, outputTokens: 1000 } },
    () => Promise.reject(new Error('no')),
    () => Promise.reject(new Error('no')),
    () => Promise.reject(new Error('no')),
  ]);
  const refuser = createTestPlugin({
    name: 'refuser',
    getMiddlewares: () => [
      {
        beforeSend({ message }) {
          if (message.message === 'no') throw new Error('refused');
        },
      },
    ],
  });
  const runtime = await createTestRuntime(refuser, {
    plugins: [createCreditsPlugin()],
    env: { CREDITS_FREE: '100' },
    model,
  });
  const balances = async () =>
    (await runtime.store.db
      .selectFrom('agent_credit_account' as never)
      .selectAll()
      .execute()) as {
      id: string;
      balance: number;
    }[];
  await expect(runtime.send('no')).rejects.toThrow('refused');
  await runtime.send('yes');
  expect((await runtime.send('fail')).message.status).toBe('failed');
  const of = Object.fromEntries((await balances()).map(({ id, balance }) => [id.split(':')[0], balance]));
  expect(of).toMatchObject({ user: 93, held: 0 });
  await runtime.close();
});

test('an answer that breaks off while the model reasons is charged for what was produced', async () => {
  const model = createScriptedModel([{ reasoning: 'thought '.repeat(500) }]);
  const env = { CREDITS_FREE: '100', CREDITS_PRICES: '{"*":{"input":0,"output":10}}' };
  const runtime = await createTestRuntime(createTestPlugin({ name: 'idle' }), {
    plugins: [createCreditsPlugin()],
    env,
    model,
  });
  expect((await runtime.send('think')).message.status).toBe('failed');
  const query = runtime.store.db.selectFrom('agent_credit_account' as never).selectAll();
  const rows = (await query.execute()) as { id: string; balance: number }[];
  // A thousand tokens.
  expect(rows.find(({ id }) => id.startsWith('user:'))?.balance).toBe(90);
  await runtime.close();
});

test('a turn ends before the next call of the model once it has cost more than the user has', async () => {
  const usage = { inputTokens: 20_000, outputTokens: 0 };
  const steps = Array.from({ length: 9 }, () => ({ text: 'Wait. ', toolCalls: [{ name: 'look', args: {} }], usage }));
  const look = { description: 'Looks.', inputSchema: z.object({}), execute: () => 'nothing yet' };
  const runtime = await createTestRuntime(createTestPlugin({ name: 'looks', getTools: () => ({ look }) }), {
    plugins: [createCreditsPlugin()],
    env: { CREDITS_FREE: '70', CREDITS_RESERVATION: '50' },
    model: [...steps, { text: 'Nothing.', usage }],
  });
  const { message } = await runtime.send('look');
  // Three steps cost 60, four 80.
  expect(message).toMatchObject({ status: 'failed', error: { code: 'PAYMENT_REQUIRED' } });
  expect(message.toolCalls).toHaveLength(4);
  const claims = runtime.store.db.selectFrom('agent_credit_claim' as never).selectAll();
  expect(await claims.execute()).toMatchObject([{ debt: 10 }]);
  await runtime.close();
});
