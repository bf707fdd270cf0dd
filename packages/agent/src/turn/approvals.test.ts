import { agentLimits } from '@palaver/contract';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTestPlugin } from '../../test/test-plugin.ts';
import { createTestRuntime } from '../app/create-test-runtime.ts';
import { tool } from '../define/tool.ts';
import { createScriptedModel } from '../models/scripted-model.ts';

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
  return { ran, plugin: createTestPlugin({ name: 'shop', getTools: () => tools }) };
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

test('a user with many approvals to answer is not asked for more', async () => {
  const { ran, plugin } = createShop();
  const buy = { toolCalls: [{ name: 'buy', args: { count: 1 } }] };
  const runtime = await createTestRuntime(plugin, { model: [buy, buy, { text: 'No.' }, { text: 'No.' }] });
  const userDid = 'did:key:zAna';
  const sessionId = await runtime.createSession(userDid);
  const body = { message: 'buy', stream: true, returnAllMessages: false };
  const waiting = await runtime.ctx.open({ userDid, sessionId, requestId: 'r', body });
  for await (const event of waiting.events()) if (event.name === 'approval_request') break;
  for (let index = 1; index < agentLimits.pendingApprovalsPerUser; index += 1)
    await sql`insert into agent_approval (id, run_id, user_did, call_id, tool_name, args, status, asked_at, expires_at)
      select id || ${`-${index}`}, run_id, user_did, call_id, tool_name, args, status, asked_at, expires_at
      from agent_approval where id not like '%-%-%-%-%-%'`.execute(runtime.store.db);
  const { message } = await runtime.send('buy', { userDid, sessionId: await runtime.createSession(userDid) });
  expect(message.approvals).toBeUndefined();
  expect(message.toolCalls?.[0]?.error).toMatch(/^APPROVAL_REFUSED: the user cannot be asked/);
  expect(ran).toEqual([]);
  await runtime.close();
});

test('a sub-agent with a tool that needs approval is refused at the start', async () => {
  const buy = tool({ description: 'Buys.', inputSchema: z.object({}), needsApproval: true, execute: () => 'bought' });
  const agent = { name: 'buyer', description: 'Buys.', instructions: 'Buy.', tools: { buy } };
  const plugin = createTestPlugin({ name: 'shop', getSubAgents: () => [agent] });
  await expect(createTestRuntime(plugin)).rejects.toThrow(
    'plugin shop: the tool "buy" of the sub-agent "buyer" has needsApproval',
  );
});
