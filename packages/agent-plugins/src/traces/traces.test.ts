import { createScriptedModel, tool } from '@palaver/agent';
import type { Trace, TraceSummary } from '@palaver/contract/internal';
import { openStore } from '@palaver/store';
import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startTestAgent, type TestAgent } from '../../../agent/test/test-agent.ts';

const weigh = tool({
  description: 'Weighs.',
  inputSchema: z.object({ goat: z.string() }),
  execute: ({ goat }) => {
    if (goat === 'ghost') throw new Error('the secret barn');
    return { kilos: 31 };
  },
});
const askFor = (goat: string) => [
  { toolCalls: [{ name: 'weigh', args: { goat } }], usage: { inputTokens: 1000, outputTokens: 250 } },
  { text: `${goat} was weighed.`, usage: { inputTokens: 2000, outputTokens: 500 } },
];

const operator = { authorization: 'Bearer the-token-of-the-operator-0123456789' };
const env = { TRACES: 'content', OPERATOR_TOKEN: 'the-token-of-the-operator-0123456789' };

async function read<Answer>({ url }: TestAgent, path: string): Promise<Answer> {
  const response = await fetch(url + path, { headers: operator });
  expect([path, response.status]).toEqual([path, 200]);
  return (await response.json()) as Answer;
}

const list = (agent: TestAgent, query = '') =>
  read<{ traces: TraceSummary[]; nextCursor: string | null }>(agent, `/traces${query}`);

describe.each(engines)('on %s', (engine) => {
  test('a run has its calls with times, tokens and cost; contents are at another address, and go with their user', async () => {
    await using agent = await startTestAgent({
      engine,
      env,
      tools: { weigh },
      model: createScriptedModel([...askFor('Bella'), ...askFor('ghost'), ...askFor('Cora')]),
    });
    const ana = await agent.createUser();
    const sessionId = await ana.createSession();
    await ana.say(sessionId, 'How heavy is my goat Bella?');
    await ana.say(sessionId, 'And the ghost?');
    const { traces, nextCursor } = await list(agent);
    expect(nextCursor).toBe(null);
    expect(traces).toMatchObject([
      { sessionId, status: 'ended' },
      { sessionId, modelCalls: 2, toolCalls: 1, inputTokens: 3000, outputTokens: 750, cost: 6 },
    ]);
    expect((await list(agent, '?limit=1')).nextCursor).toBe(traces[0]?.id);
    expect((await list(agent, `?before=${traces[0]?.id}`)).traces).toEqual([traces[1]]);

    const [failed, weighed] = traces.map(({ runId }) => runId);
    const [plain] = (await read<{ traces: Trace[] }>(agent, `/traces/${weighed}`)).traces;
    expect(plain?.steps).toMatchObject([
      { kind: 'model', inputTokens: 1000, tools: expect.arrayContaining(['weigh']) },
      { kind: 'tool', name: 'weigh', durationMs: expect.any(Number) },
      { kind: 'model', outputTokens: 500 },
    ]);
    expect(JSON.stringify(plain)).not.toContain('Bella');
    const [whole] = (await read<{ traces: Trace[] }>(agent, `/traces/${weighed}/content`)).traces;
    expect(whole?.steps[0]?.input).toContain('How heavy is my goat Bella?');
    expect(whole?.steps[1]).toMatchObject({ input: '{"goat":"Bella"}', output: '{"kilos":31}' });
    const ghost = JSON.stringify(await read(agent, `/traces/${failed}`));
    expect(ghost).toContain('"error"');
    expect(ghost).not.toContain('secret barn');

    const { body } = await ana.send('GET', '/me/export');
    expect(JSON.stringify(body)).toContain('agent_trace');
    await ana.send('DELETE', `/sessions/${sessionId}`);
    expect((await list(agent)).traces).toEqual([]);
    await ana.say(await ana.createSession(), 'And Cora?');
    expect((await list(agent)).traces).toHaveLength(1);
    await ana.send('DELETE', '/me');
    expect((await list(agent)).traces).toEqual([]);
  });
});

test('without contents none are stored', async () => {
  await using agent = await startTestAgent({ engine: 'sqlite', env: { ...env, TRACES: 'calls' } });
  const ana = await agent.createUser();
  await ana.say(await ana.createSession(), 'Where is Bella?');
  // biome-ignore lint/suspicious/noExplicitAny: the table is the plugin's own.
  const store = await openStore<any>(agent.databaseUrl);
  const [row] = await store.db.selectFrom('agent_trace').selectAll().execute();
  await store.close();
  expect(JSON.stringify(row)).toContain('offline');
  expect(JSON.stringify(row)).not.toContain('Bella');
});

test('by default nothing is recorded, and there is no such route', async () => {
  await using agent = await startTestAgent({ env: { OPERATOR_TOKEN: env.OPERATOR_TOKEN } });
  expect((await fetch(`${agent.url}/traces`, { headers: operator })).status).toBe(404);
});
