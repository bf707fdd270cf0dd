import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTestRuntime } from '../app/create-test-runtime.ts';
import { defineOraclePlugin, type PluginManifest, tablesOf } from './plugin.ts';
import { tool } from './tool.ts';

const manifest: PluginManifest = {
  title: 'T',
  summary: 'T.',
  whenToUse: [],
  visibility: 'silent',
  stability: 'stable',
};

// The compiler checks these: a line that no longer fails is an error of its own.
test('arguments, variables and tables that are not there do not compile', () => {
  const input = z.object({ place: z.string() });
  tool({
    description: 'A wrong name.',
    inputSchema: input,
    // @ts-expect-error the schema has `place`
    execute: ({ plce }: { plce: number }) => plce,
  });
  tool({
    description: 'A wrong name, inferred.',
    inputSchema: input,
    // @ts-expect-error the schema has `place`
    execute: ({ plce }) => plce,
  });
  const plugin = defineOraclePlugin({
    name: 'typed',
    version: '1.0.0',
    manifest,
    configSchema: z.object({ HERD_SIZE: z.coerce.number() }),
    tables: tablesOf<{ goat: { name: string } }>(),
    getTools({ config, store }) {
      const size: number = config.HERD_SIZE;
      // @ts-expect-error it is a number
      const text: string = config.HERD_SIZE;
      // @ts-expect-error there is no such variable
      const none = config.HERD_NAME;
      const rows = () => store.db.selectFrom('goat').select('name').execute();
      // @ts-expect-error there is no such table
      const sheep = () => store.db.selectFrom('sheep').selectAll().execute();
      return {
        unused: tool({ description: 'd', inputSchema: input, execute: () => [size, text, none, rows, sheep].length }),
      };
    },
  });
  expect(plugin.name).toBe('typed');
});

test('the schema fills in what the model leaves out', async () => {
  const plugin = defineOraclePlugin({
    name: 'defaults',
    version: '1.0.0',
    manifest,
    getTools: () => ({
      weigh: tool({
        description: 'Weighs.',
        inputSchema: z.object({ crop: z.string(), kilograms: z.number().default(1) }),
        execute: ({ crop, kilograms }) => `${kilograms.toFixed(1)} kg of ${crop}`,
      }),
    }),
  });
  const model = [{ toolCalls: [{ name: 'weigh', args: { crop: 'maize' } }] }, { text: 'ok' }];
  const runtime = await createTestRuntime(plugin, { model });
  const { message } = await runtime.send('hello');
  expect(message.toolCalls).toMatchObject([{ output: '1.0 kg of maize' }]);
  await runtime.close();
});
