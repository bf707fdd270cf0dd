import { StartError } from '@palaver/service-kit';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTestPlugin } from '../../test/test-plugin.ts';
import { createScriptedModel } from '../models/scripted-model.ts';
import { createTestRuntime } from './create-test-runtime.ts';

const greeter = createTestPlugin({
  name: 'greeter',
  configSchema: z.object({ GREETING: z.string().meta({ description: 'A greeting.', example: 'Hello' }) }),
  getTools: ({ config }) => ({
    greet: {
      description: 'Greets.',
      inputSchema: z.object({ name: z.string() }),
      execute: ({ name }: { name: string }) => `${config.GREETING}, ${name}!`,
    },
  }),
});

test('a plugin runs with its configuration, its tools and a scripted model', async () => {
  const runtime = await createTestRuntime(greeter, {
    env: { GREETING: 'Karibu' },
    model: [
      { toolCalls: [{ name: 'greet', args: { name: 'Ana' } }] },
      ({ prompt }) => ({ text: `tool said ${JSON.stringify(prompt.at(-1)).includes('Karibu, Ana!')}` }),
    ],
  });
  const { message, events } = await runtime.send('hello');
  expect(message).toMatchObject({ content: 'tool said true', toolCalls: [{ output: 'Karibu, Ana!' }] });
  expect(events.map(({ name }) => name)).toEqual(['run', 'tool_call', 'tool_call', 'message']);
  expect(runtime.plugins.status()).toMatchObject([{ name: 'greeter', loaded: true }]);
  await runtime.close();
});

test('a fault of the plugin is reported as at a real start', async () => {
  await expect(createTestRuntime(greeter)).rejects.toThrow(StartError);
});

test('turns of one session share its history, sessions and users share nothing', async () => {
  const runtime = await createTestRuntime(createTestPlugin({ name: 'nothing' }), {
    model: Array.from({ length: 4 }, () => ({ prompt }: { prompt: unknown[] }) => ({ text: `${prompt.length}` })),
  });
  const content = async (...args: Parameters<typeof runtime.send>) => (await runtime.send(...args)).message.content;
  expect(await content('one')).toBe('2');
  expect(await content('two')).toBe('4');
  expect(await content('three', { sessionId: await runtime.createSession() })).toBe('2');
  expect(await content('four', { userDid: 'did:key:other' })).toBe('2');
  await runtime.close();
});

test.each(engines)('runs on %s', async (engine) => {
  await using database = await createTestDatabase(engine);
  const runtime = await createTestRuntime(createTestPlugin({ name: 'nothing' }), {
    databaseUrl: database.url,
    model: [{ text: 'fine' }],
  });
  expect(runtime.store.engine).toBe(engine);
  expect((await runtime.send('hello')).message.content).toBe('fine');
  await runtime.close();
});

test('an on-demand plugin says and brings nothing until it is loaded, then all of it in the same turn', async () => {
  const look = { description: 'Looks.', inputSchema: z.object({}), execute: () => null };
  const stars = createTestPlugin({
    name: 'stars',
    manifest: { visibility: 'on-demand', summary: 'Names the stars.' },
    getPromptSection: () => 'Sirius is up.',
    getRequestTools: () => ({ look_now: look }),
    getSubAgents: () => [{ name: 'astronomer', description: 'Knows.', instructions: 'i' }],
  });
  const model = createScriptedModel([
    { toolCalls: [{ name: 'load_capability', args: { name: 'stars' } }] },
    { text: 'ok' },
    { text: 'ok' },
  ]);
  const runtime = await createTestRuntime(stars, { model });
  await runtime.send('hello');
  await runtime.send('again');
  const tools = model.calls.map((call) => call.tools?.map(({ name }) => name));
  expect(tools[0]).toEqual(['list_capabilities', 'load_capability']);
  expect(tools[1]).toEqual(['list_capabilities', 'load_capability', 'astronomer', 'look_now']);
  expect(new Set(tools[2])).toEqual(new Set(tools[1]));
  const [before, after, later] = model.systemPrompts();
  expect(before).not.toMatch(/stars|Sirius/);
  for (const prompt of [after, later]) expect(prompt).toMatch(/stars: Names the stars[\s\S]*Sirius is up\./);
  await runtime.close();
});
