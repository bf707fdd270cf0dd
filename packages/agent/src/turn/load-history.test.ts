import { createOfflineModel } from '@palaver/offline-model';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestPlugin } from '../../test/test-plugin.ts';
import { createTestRuntime, type TestRuntime } from '../app/create-test-runtime.ts';
import type { TurnEnd } from '../define/middleware.ts';
import { createScriptedModel, type ScriptedStep } from '../models/scripted-model.ts';

const contextTokens = 1_000;
const answer: ScriptedStep = { text: 'a'.repeat(400) };
const question = (number: number) => `question ${number} ${'q'.repeat(400)}`;

describe.each(engines)('a long conversation on %s', (engine) => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let runtime: TestRuntime;
  let ends: TurnEnd[];
  beforeEach(async () => {
    database = await createTestDatabase(engine);
    ends = [];
  });
  afterEach(async () => {
    await runtime.close();
    await database[Symbol.asyncDispose]();
  });

  async function start(utility: ScriptedStep[], turns = 12) {
    const main = createScriptedModel(Array.from({ length: turns }, () => answer));
    const chores = createScriptedModel(utility, 'chores');
    const listener = createTestPlugin({
      name: 'listener',
      getMiddlewares: () => [{ onTurnEnd: (end) => void ends.push(end) }],
    });
    runtime = await createTestRuntime(listener, {
      model: { main, utility: chores },
      contextTokens,
      databaseUrl: database.url,
    });
    return { main, chores };
  }

  async function talk(turns: number) {
    for (let number = 1; number <= turns; number += 1) await runtime.send(question(number));
  }

  const summaryRows = () => runtime.store.db.selectFrom('agent_summary').selectAll().execute();

  test('is given whole as long as it fits, and no summary is made', async () => {
    const { main, chores } = await start([]);
    await talk(3);
    expect(chores.calls).toHaveLength(0);
    expect(main.calls[2]?.prompt).toHaveLength(1 + 4 + 1);
    expect(await summaryRows()).toEqual([]);
  });

  test('then its oldest part is summarised, once; the summary is stored, used again and built upon', async () => {
    const { main, chores } = await start([{ text: 'They discussed goats.' }, { text: 'Of goats and bees.' }]);
    await talk(8);
    expect(chores.calls).toHaveLength(1);
    const asked = JSON.stringify(chores.calls[0]?.prompt);
    expect(asked).toContain('question 1');
    expect(asked).not.toContain('question 6');
    const withSummary = main
      .systemPrompts()
      .map((prompt) => prompt.includes('Earlier in this conversation: They discussed goats.'));
    const first = withSummary.indexOf(true);
    expect(withSummary.slice(first).every(Boolean)).toBe(true);
    const prompt = JSON.stringify(main.calls[first]?.prompt);
    expect(prompt).not.toContain('question 1 ');
    expect(prompt).toContain(`question ${first} `);
    expect(await summaryRows()).toMatchObject([{ text: 'They discussed goats.' }]);
    for (let number = 9; number <= 11; number += 1) await runtime.send(question(number));
    expect(chores.calls).toHaveLength(2);
    expect(JSON.stringify(chores.calls[1]?.prompt)).toContain('Summary so far:\\nThey discussed goats.');
    expect(main.systemPrompts().at(-1)).toContain('Of goats and bees.');
    expect(await summaryRows()).toHaveLength(1);
  });

  test('what the summary used is counted', async () => {
    const usage = { inputTokens: 7_000, outputTokens: 3 };
    const { chores } = await start([{ text: 'Short.', usage }]);
    await talk(8);
    expect(chores.calls).toHaveLength(1);
    const [end] = ends.filter((end) => end.usage.inputTokens === 7_010);
    expect(end?.usageByModel).toMatchObject({ chores: usage, scripted: { inputTokens: 10 } });
  });

  test('where it cannot be summarised the turn continues with what fits, and the next one tries again', async () => {
    // By then there is more to summarise: two pieces.
    const steps = [() => Promise.reject(new Error('down')), { text: 'First.' }, { text: 'Later.' }];
    const { main, chores } = await start(steps);
    await talk(8);
    expect(ends.every(({ status }) => status === 'complete')).toBe(true);
    expect(chores.calls).toHaveLength(3);
    expect(JSON.stringify(chores.calls[2]?.prompt)).toContain('Summary so far:\\nFirst.');
    expect(main.systemPrompts().at(-1)).toContain('Later.');
  });

  test('a capability loaded in the summarised part stays loaded', async () => {
    const load: ScriptedStep = { toolCalls: [{ name: 'load_capability', args: { name: 'stars' } }] };
    const main = createScriptedModel([load, ...Array.from({ length: 12 }, () => answer)]);
    const stars = createTestPlugin({
      name: 'stars',
      manifest: { visibility: 'on-demand' },
      getTools: () => ({
        stars_say: { description: 'Stars.', inputSchema: { type: 'object' }, execute: () => 'Sirius' },
      }),
    });
    const utility = createOfflineModel({ modelId: 'offline', wordsPerSecond: 1_000 });
    runtime = await createTestRuntime(stars, { model: { main, utility }, contextTokens, databaseUrl: database.url });
    await talk(10);
    expect((await summaryRows())[0]?.capabilities).toBe('["stars"]');
    expect(main.calls.at(-1)?.tools?.map(({ name }) => name)).toContain('stars_say');
    // The offline model's own summary: what the user said, shortened.
    expect(main.systemPrompts().at(-1)).toMatch(
      /Earlier in this conversation: The user said: question 1 q+ \| question 2/,
    );
  });

  test('a summary goes with its session', async () => {
    await start([{ text: 'Goats.' }]);
    await talk(8);
    expect(await summaryRows()).toHaveLength(1);
    await runtime.store.db.deleteFrom('agent_session').execute();
    expect(await summaryRows()).toEqual([]);
  });
});
