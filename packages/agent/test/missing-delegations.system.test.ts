// A run that lacks a delegation waits for exactly that one, whatever happens to its process.
import { createTempDir, engines, waitFor } from '@palaver/test-kit';
import { createDelegation } from '@palaver/ucan';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answerOf, ask } from './ask-approval.ts';
import { createBank, readPaid, withdrawal } from './bank-plugin.ts';
import { collectFrames, readUntil } from './read-frames.ts';
import { createBankInstances } from './start-bank.ts';
import { chatCapability, startTestAgent, type TestAgent, type TestUser } from './test-agent.ts';

const withdraw = (amount: number) => `/tool withdraw ${JSON.stringify({ amount })}`;
const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

async function grant(
  user: TestUser,
  audience: string,
  lifetimeSeconds = 3600,
  capability: object = withdrawal(user.did),
) {
  const capabilities = [capability as typeof chatCapability];
  const { serialized } = await createDelegation({ issuer: user.signer, audience, capabilities, lifetimeSeconds });
  const { status, body } = await user.send('POST', '/delegation', { raw: serialized });
  expect(status, JSON.stringify(body)).toBe(200);
  return body.cid as string;
}

describe.each(engines)('a missing delegation on %s', (engine) => {
  let agent: TestAgent;
  let paidFile: string;
  let dir: Awaited<ReturnType<typeof createTempDir>>;
  beforeAll(async () => {
    dir = await createTempDir();
    paidFile = `${dir.path}/paid`;
    agent = await startTestAgent({ engine, plugins: [createBank(paidFile)] });
  });
  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  });

  test('is named, and the run continues as soon as it is posted', async () => {
    const ana = await agent.createUser();
    await grant(ana, agent.did, 3600, chatCapability);
    const sessionId = await ana.createSession();
    const { frames, asked } = await ask(ana, sessionId, withdraw(5));
    expect(asked).toMatchObject({ toolName: 'withdraw', status: 'pending', capability: withdrawal(ana.did) });
    expect(await ana.liveRun(sessionId)).toMatchObject({
      status: 'waiting',
      approvals: [{ capability: withdrawal(ana.did) }],
    });
    expect(await answerOf(ana, asked, true)).toMatchObject({ status: 409, body: { code: 'DELEGATION_REQUIRED' } });
    await grant(ana, agent.did, 3600, { ...withdrawal(ana.did), nb: { limit: 50 } });
    expect(await ana.liveRun(sessionId)).toMatchObject({ status: 'waiting' });
    const cid = await grant(ana, agent.did);
    expect((await readUntil(frames, 'done')).at(-1)?.data.status).toBe('complete');
    expect(readPaid(paidFile)).toEqual(['withdrawn 5']);
    expect((await answerOf(ana, asked, true)).body.approval).toMatchObject({ status: 'approved', answeredBy: ana.did });

    const { delegations } = (await ana.send('GET', '/delegation')).body;
    expect(delegations).toHaveLength(3);
    expect(delegations).toContainEqual({ cid, expiration: expect.any(Number), capabilities: [withdrawal(ana.did)] });
    // One that is there is not asked for, also after others were posted.
    await grant(ana, agent.did, 3600, chatCapability);
    expect((await ana.say(sessionId, withdraw(6))).body.message.toolCalls).toMatchObject([{ status: 'done' }]);
    expect((await ana.send('DELETE', `/delegation/${cid}`)).status).toBe(200);
    const again = await ask(ana, sessionId, withdraw(7));
    expect(again.asked).toMatchObject({ capability: withdrawal(ana.did) });
    await answerOf(ana, again.asked, false, 'not today');
    const end = await readUntil(again.frames, 'done');
    expect(end.find(({ event }) => event === 'tool_call')?.data.error).toBe(
      `REAUTHORIZATION_REQUIRED: the user has not delegated bank/withdraw on ${ana.did} to this agent. It was not run. Reason: not today`,
    );
    expect(readPaid(paidFile)).toEqual(['withdrawn 5', 'withdrawn 6']);
  });

  test('of one who is also asked for approval: both are needed, and one that expires meanwhile is asked for again', async () => {
    const ben = await agent.createUser();
    const sessionId = await ben.createSession();
    const before = readPaid(paidFile).length;
    const expiration = inSeconds(3);
    await grant(ben, agent.did, 3);
    const { frames, asked } = await ask(ben, sessionId, withdraw(50));
    expect(asked.capability).toBeUndefined();
    await expect.poll(() => inSeconds(0)).toBeGreaterThan(expiration);
    expect((await answerOf(ben, asked, true)).status).toBe(200);
    await waitFor('the delegation to be asked for', async () => {
      const { approvals } = (await ben.liveRun(sessionId)) as unknown as { approvals?: { capability?: object }[] };
      return approvals?.some(({ capability }) => capability);
    });
    expect(readPaid(paidFile)).toHaveLength(before);
    await grant(ben, agent.did);
    expect((await readUntil(frames, 'done')).at(-1)?.data.status).toBe('complete');
    expect(readPaid(paidFile).slice(before)).toEqual(['withdrawn 50']);
  });
});

test('that is not given in time ends the wait with a sentence for the model', async () => {
  await using dir = await createTempDir();
  const plugins = [createBank(`${dir.path}/paid`)];
  await using agent = await startTestAgent({ plugins, env: { APPROVAL_TIMEOUT_MS: '1000' } });
  const ana = await agent.createUser();
  const { body } = await ana.say(await ana.createSession(), withdraw(5));
  expect(body.message).toMatchObject({
    status: 'complete',
    approvals: [{ status: 'expired' }],
    toolCalls: [
      { error: expect.stringMatching(/^REAUTHORIZATION_REQUIRED: the user has not delegated bank\/withdraw/) },
    ],
  });
  expect(readPaid(`${dir.path}/paid`)).toEqual([]);
});

test.concurrent.each(engines)('killed on %s while it waits, the run continues with the delegation', async (engine) => {
  await using bank = await createBankInstances(engine);
  const first = await bank.start();
  const sessionId = await first.user.createSession();
  const { asked, frames } = await ask(first.user, sessionId, withdraw(5));
  const cut = expect(readUntil(frames, 'done')).rejects.toThrow();
  first.process.kill('SIGKILL');
  await Promise.all([first.process.exited, cut]);
  const second = await bank.start();
  expect(await second.user.liveRun(sessionId)).toMatchObject({ status: 'waiting' });
  await grant(second.user, bank.did);
  const replay = await collectFrames(await second.user.follow(asked.runId));
  expect(replay.at(-1)?.data.status).toBe('complete');
  expect(bank.paid()).toEqual(['withdrawn 5']);
});

test.concurrent('posted to another instance, it continues on its own', async () => {
  await using bank = await createBankInstances('postgres');
  const [one, two] = [await bank.start(), await bank.start()];
  const { frames } = await ask(one.user, await one.user.createSession(), withdraw(5));
  await grant(two.user, bank.did);
  expect((await readUntil(frames, 'done')).at(-1)?.data.status).toBe('complete');
  expect(bank.paid()).toEqual(['withdrawn 5']);
});
