import { agentLimits } from '@palaver/contract';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTestPlugin } from '../../test/test-plugin.ts';
import { createTestRuntime } from '../app/create-test-runtime.ts';
import type { TurnEnd } from '../define/middleware.ts';
import { tool } from '../define/tool.ts';
import { createScriptedModel, type ScriptedStep } from '../models/scripted-model.ts';

function createShop() {
  const ran: string[] = [];
  const make = (name: string, needsApproval: boolean | (() => boolean)) =>
    tool({
      description: `Runs ${name}.`,
      inputSchema: z.object({ count: z.number() }),
      needsApproval,
      execute: ({ count }) => {
        ran.push(`${name} ${count}`);
        return { count };
      },
    });
  const broken = () => {
    throw new Error('the rule is broken');
  };
  const tools = { look: make('look', false), buy: make('buy', true), sell: make('sell', broken) };
  return { ran, tools, plugin: createTestPlugin({ name: 'shop', getTools: () => tools }) };
}

test('nothing of a step runs before all of its approvals are answered; wrong arguments are not asked about', async () => {
  const { ran, plugin } = createShop();
  const call = (name: string, count: unknown) => ({ name, args: { count } });
  const model = createScriptedModel([
    { text: 'Let me see.', toolCalls: [call('look', 1), call('buy', 2), call('sell', 3), call('buy', 'many')] },
    { text: 'Bought.' },
  ]);
  const runtime = await createTestRuntime(plugin, { model });
  const asked: string[] = [];
  const { message, events } = await runtime.send('go shopping', {
    approve({ toolName, args }) {
      asked.push(`${toolName} ${args.count}`);
      expect(ran).toEqual([]);
      return toolName === 'buy';
    },
  });
  await runtime.close();
  expect(asked).toEqual(['buy 2', 'sell 3']);
  expect(ran.toSorted()).toEqual(['buy 2', 'look 1']);
  expect(message.content).toBe('Let me see.\n\nBought.');
  expect(message.toolCalls?.map(({ name, status }) => `${name} ${status}`)).toEqual([
    'look done',
    'buy done',
    'sell error',
    'buy error',
  ]);
  const results = model.calls[1]?.prompt.at(-1);
  expect(JSON.stringify(results)).toContain('APPROVAL_REFUSED: the user did not approve this call.');
  expect(events.filter(({ name }) => name === 'message')).toHaveLength(2);
});

/** Asks a user for as many approvals as may be open, and returns their DID. */
async function fillApprovals(runtime: Awaited<ReturnType<typeof createTestRuntime>>): Promise<string> {
  const userDid = 'did:key:zAna';
  const sessionId = await runtime.createSession(userDid);
  const body = { message: 'buy', stream: true, returnAllMessages: false };
  const waiting = await runtime.ctx.open({ userDid, sessionId, requestId: 'r', body });
  for await (const event of waiting.events()) if (event.name === 'approval_request') break;
  for (let index = 1; index < agentLimits.pendingApprovalsPerUser; index += 1)
    await sql`insert into agent_approval (id, run_id, user_did, call_id, tool_name, args, status, asked_at, expires_at)
      select id || ${`-${index}`}, run_id, user_did, call_id, tool_name, args, status, asked_at, expires_at
      from agent_approval where id not like '%-%-%-%-%-%'`.execute(runtime.store.db);
  return userDid;
}

test('a user with many approvals to answer is not asked for more', async () => {
  const { ran, plugin } = createShop();
  const buy = { toolCalls: [{ name: 'buy', args: { count: 1 } }] };
  const runtime = await createTestRuntime(plugin, { model: [buy, buy, { text: 'No.' }, { text: 'No.' }] });
  const userDid = await fillApprovals(runtime);
  const { message } = await runtime.send('buy', { userDid, sessionId: await runtime.createSession(userDid) });
  expect(message.approvals).toBeUndefined();
  expect(message.toolCalls?.[0]?.error).toMatch(/^APPROVAL_REFUSED: the user cannot be asked/);
  expect(ran).toEqual([]);
  await runtime.close();
});

const call = (name: string, args: Record<string, unknown>) => ({ name, args });

function createHousehold(subagent: ScriptedStep[]) {
  const { ran, tools } = createShop();
  const buyer = { name: 'buyer', description: 'Buys.', instructions: 'Buy.', tools };
  const household = createTestPlugin({
    name: 'household',
    getSubAgents: () => [buyer],
    getTools: () => ({ look: tools.look }),
  });
  const main = createScriptedModel([
    { toolCalls: [call('buyer', { task: 'Buy two.' }), call('look', { count: 9 })] },
    { text: 'Done.' },
  ]);
  return { ran, household, main, subagent: createScriptedModel(subagent, 'small') };
}

test('a tool of a sub-agent asks the user of the run; what had run before is not run again, and all of it is charged', async () => {
  const { ran, household, main, subagent } = createHousehold([
    { toolCalls: [call('look', { count: 1 })] },
    { toolCalls: [call('buy', { count: 2 }), call('sell', { count: 3 })] },
    { text: 'Bought two.' },
  ]);
  const ends: TurnEnd[] = [];
  const meter = createTestPlugin({
    name: 'meter',
    getMiddlewares: () => [{ onTurnEnd: (end) => void ends.push(end) }],
  });
  const runtime = await createTestRuntime(household, { model: { main, subagent }, plugins: [meter] });
  const { message, events } = await runtime.send('buy', {
    approve({ toolName }) {
      expect(ran).toEqual(['look 9', 'look 1']);
      return toolName === 'buy';
    },
  });
  await runtime.close();
  expect(ran).toEqual(['look 9', 'look 1', 'buy 2']);
  expect(message).toMatchObject({ status: 'complete', content: 'Done.' });
  const outer = message.toolCalls?.find(({ name }) => name === 'buyer');
  expect(outer).toMatchObject({ status: 'done', output: { answer: 'Bought two.' } });
  expect(
    message.toolCalls?.filter(({ parentId }) => parentId === outer?.id).map(({ name, status }) => `${name} ${status}`),
  ).toEqual(['look done', 'buy done', 'sell error']);
  expect(message.approvals?.map(({ toolName, status }) => `${toolName} ${status}`)).toEqual([
    'buy approved',
    'sell refused',
  ]);
  expect(JSON.stringify(subagent.calls[2]?.prompt)).toContain('the user did not approve this call');
  expect([main.calls.length, subagent.calls.length]).toEqual([2, 3]);
  expect(ends[0]?.usageByModel).toEqual({
    scripted: { inputTokens: 20, outputTokens: 10 },
    small: { inputTokens: 30, outputTokens: 15 },
  });
  expect(
    events.filter(({ name, data }) => name === 'tool_call' && data.toolName === 'look' && data.status === 'done'),
  ).toHaveLength(2);
});

test('two sub-agents of one step ask together, one of them twice', async () => {
  const buy = (count: number) => ({ toolCalls: [call('buy', { count })] });
  const { ran, household, subagent } = createHousehold([buy(1), buy(1), buy(2), { text: 'Two.' }, { text: 'One.' }]);
  const both = [call('buyer', { task: 'a' }), call('buyer', { task: 'b' })];
  const main = createScriptedModel([{ toolCalls: both }, { text: 'Done.' }]);
  const runtime = await createTestRuntime(household, { model: { main, subagent } });
  const { message } = await runtime.send('buy', { approve: () => true });
  await runtime.close();
  expect(ran).toEqual(['buy 1', 'buy 1', 'buy 2']);
  expect(message).toMatchObject({ status: 'complete', content: 'Done.' });
  expect(message.approvals?.map(({ status }) => status)).toEqual(['approved', 'approved', 'approved']);
});

test('a sub-agent whose user cannot be asked for more is refused and continues', async () => {
  const buy = { toolCalls: [call('buy', { count: 1 })] };
  const { ran, household, subagent } = createHousehold([buy, buy, { text: 'Nothing.' }]);
  const ask = { toolCalls: [call('buyer', { task: 'Buy.' })] };
  const main = createScriptedModel([ask, ask, { text: 'Done.' }]);
  const runtime = await createTestRuntime(household, { model: { main, subagent } });
  const userDid = await fillApprovals(runtime);
  const { message } = await runtime.send('buy', { userDid, sessionId: await runtime.createSession(userDid) });
  await runtime.close();
  expect(message.toolCalls?.find(({ name }) => name === 'buy')?.error).toMatch(/^APPROVAL_REFUSED/);
  expect(message.toolCalls?.find(({ name }) => name === 'buyer')).toMatchObject({ output: { answer: 'Nothing.' } });
  expect(ran).toEqual([]);
});
