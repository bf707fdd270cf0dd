import { StartError } from '@palaver/service-kit';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTestRuntime } from './create-test-runtime.ts';
import { createTestPlugin } from './test-plugin.ts';

const greeter = createTestPlugin({
  name: 'greeter',
  configSchema: z.object({ GREETING: z.string().meta({ description: 'A greeting.', example: 'Hello' }) }),
  getTools: ({ config }) => ({
    greet: {
      description: 'Greets.',
      input: z.object({ name: z.string() }),
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

test('a fault of the plugin is told as at a real start', async () => {
  await expect(createTestRuntime(greeter)).rejects.toThrow(StartError);
});

test('turns of one session know each other, sessions and users do not', async () => {
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
