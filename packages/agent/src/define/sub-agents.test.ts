import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTestPlugin } from '../../test/test-plugin.ts';
import { createTestRuntime } from '../app/create-test-runtime.ts';
import { createScriptedModel, type ScriptedStep } from '../models/scripted-model.ts';
import type { TurnEnd } from './middleware.ts';
import type { SubAgent } from './tool.ts';

const librarian: SubAgent = {
  name: 'librarian',
  description: 'Finds books.',
  instructions: 'You are a librarian.',
  tools: {
    find_book: {
      description: 'Finds a book.',
      inputSchema: z.object({ title: z.string() }),
      execute: ({ title }: { title: string }) => ({ shelf: title.length }),
    },
  },
};

async function runWith(subagentSteps: ScriptedStep[], agent = librarian) {
  const main = createScriptedModel([
    { toolCalls: [{ name: 'librarian', args: { task: 'Find Walden' } }] },
    { text: 'It is on shelf 6.' },
  ]);
  const subagent = createScriptedModel(subagentSteps, 'small');
  const ends: TurnEnd[] = [];
  const plugin = createTestPlugin({
    name: 'library',
    getSubAgents: () => [agent],
    getMiddlewares: () => [{ onTurnEnd: (end) => void ends.push(end) }],
  });
  const runtime = await createTestRuntime(plugin, { model: { main, subagent } });
  const turn = await runtime.send('Where is Walden?');
  await runtime.close();
  return { ...turn, main, subagent, ends };
}

test('a sub-agent works on its task alone, with its own model, instructions and tools', async () => {
  const { message, events, main, subagent, ends } = await runWith([
    { text: 'Looking.', toolCalls: [{ name: 'find_book', args: { title: 'Walden' } }] },
    { text: 'Shelf 6.' },
  ]);
  expect(message).toMatchObject({ status: 'complete', content: 'It is on shelf 6.' });
  expect(main.calls[0]?.tools?.map(({ name }) => name)).toEqual(['librarian']);
  expect(subagent.calls[0]?.prompt).toEqual([
    { role: 'system', content: 'You are a librarian.' },
    { role: 'user', content: [{ type: 'text', text: 'Find Walden' }] },
  ]);
  expect(subagent.calls[0]?.tools?.map(({ name }) => name)).toEqual(['find_book']);
  const story = events.flatMap(({ name, data }) => {
    if (name === 'router_update') return [`${data.from} → ${data.to}`];
    return name === 'tool_call' ? [`${data.toolName} ${data.status}`] : [];
  });
  expect(story).toEqual([
    'librarian isRunning',
    'Test agent → librarian',
    'find_book isRunning',
    'find_book done',
    'librarian → Test agent',
    'librarian done',
  ]);
  expect(message.toolCalls).toMatchObject([
    { name: 'librarian', output: { answer: 'Shelf 6.' } },
    { name: 'find_book', output: { shelf: 6 } },
  ]);
  expect(new Set(message.toolCalls?.map(({ id }) => id)).size).toBe(2);
  const half = { inputTokens: 20, outputTokens: 10 };
  expect(ends[0]).toMatchObject({
    usage: { inputTokens: 40, outputTokens: 20 },
    usageByModel: { scripted: half, small: half },
  });
});

test('one that calls the same tools without end is stopped and reported, and the turn continues', async () => {
  const again = { toolCalls: [{ name: 'find_book', args: { title: 'x' } }] };
  const { message, subagent } = await runWith([again, again, again, again], { ...librarian, maxSteps: 3 });
  expect(subagent.calls).toHaveLength(4);
  expect(message).toMatchObject({
    status: 'complete',
    toolCalls: [{ name: 'librarian', status: 'error', error: expect.stringContaining('3 times') }, {}, {}, {}],
  });
});

test('one whose model fails is a failed tool; the return is still reported', async () => {
  const { message, events } = await runWith([]);
  expect(message.toolCalls).toMatchObject([{ name: 'librarian', status: 'error' }]);
  expect(events.filter(({ name }) => name === 'router_update').at(-1)?.data).toMatchObject({ from: 'librarian' });
});

test('its own calls name the call it is, and the main agent is not shown them later', async () => {
  const main = createScriptedModel([
    { toolCalls: [{ name: 'librarian', args: { task: 'Find Walden' } }] },
    { text: 'It is on shelf 6.' },
    { text: 'As I said.' },
  ]);
  const subagent = createScriptedModel(
    [{ toolCalls: [{ name: 'find_book', args: { title: 'Walden' } }] }, { text: 'Shelf 6.' }],
    'small',
  );
  const plugin = createTestPlugin({ name: 'library', getSubAgents: () => [librarian] });
  const runtime = await createTestRuntime(plugin, { model: { main, subagent } });
  const { message } = await runtime.send('Where is Walden?');
  const [outer, inner] = message.toolCalls ?? [];
  expect(inner).toMatchObject({ name: 'find_book', parentId: outer?.id });
  await runtime.send('Again?');
  await runtime.close();
  const shown = JSON.stringify(main.calls[2]?.prompt);
  expect(shown).toContain('librarian');
  expect(shown).not.toContain('find_book');
});
