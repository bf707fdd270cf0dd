import { createLogger, StartError } from '@palaver/service-kit';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTestPlugin } from '../../test/test-plugin.ts';
import type { OraclePlugin, PluginContext } from './plugin.ts';
import { createPluginHost } from './start-plugins.ts';
import type { Tool } from './tool.ts';

const tool: Tool = { description: 'Does nothing.', inputSchema: z.object({}), execute: () => null };
const plugin = createTestPlugin;

async function start(plugins: OraclePlugin[]) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ name: 'test', level: 'debug', destination });
  const createContext = () => ({}) as PluginContext;
  const host = createPluginHost({ plugins, features: {}, manifestOverrides: {}, env: {}, logger });
  await host.start(createContext);
  return { host, lines };
}

const clashes: [string, OraclePlugin[], string][] = [
  [
    'a tool name taken twice',
    [plugin({ name: 'a', getTools: () => ({ look: tool }) }), plugin({ name: 'b', getTools: () => ({ look: tool }) })],
    'plugin b: the tool "look" is taken by plugin a; rename one',
  ],
  [
    'a sub-agent named like a tool',
    [
      plugin({ name: 'a', getTools: () => ({ look: tool }) }),
      plugin({ name: 'b', getSubAgents: () => [{ name: 'look', description: 'd', instructions: 'i' }] }),
    ],
    'plugin b: the tool "look" is taken by plugin a; rename one',
  ],
  [
    "a tool named like one of the runtime's",
    [plugin({ name: 'a', getTools: () => ({ load_capability: tool }) })],
    'plugin a: the tool "load_capability" is taken by the runtime itself; rename one',
  ],
  [
    'a shared key taken twice',
    [
      plugin({ name: 'a', getSharedState: () => ({ seen: () => 0 }) }),
      plugin({ name: 'b', getSharedState: () => ({ seen: () => 1 }) }),
    ],
    'plugin b: the shared key "seen" is taken by plugin a; rename one',
  ],
  [
    'an example of a tool that is not there',
    [
      plugin({
        name: 'a',
        manifest: { examples: [{ user: 'look', tool: 'loook' }] },
        getTools: () => ({ look: tool }),
      }),
    ],
    'plugin a: an example names the tool "loook", which it does not have; name a real one',
  ],
  [
    'a tool name that providers do not take',
    [plugin({ name: 'a', getTools: () => ({ 'look up': tool }) })],
    'plugin a: the tool name "look up" must be 1 to 64 letters, digits, _ or -',
  ],
  [
    'arguments that JSON cannot hold',
    [plugin({ name: 'a', getTools: () => ({ look: { ...tool, inputSchema: z.object({ when: z.date() }) } }) })],
    'plugin a: model providers cannot read the inputSchema of the tool "look" (Date cannot be represented in JSON Schema); use an object of plain types',
  ],
  [
    'arguments that are no object',
    [plugin({ name: 'a', getTools: () => ({ look: { ...tool, inputSchema: z.string() } }) })],
    'plugin a: model providers cannot read the inputSchema of the tool "look" (it is not one object); use an object of plain types',
  ],
];

test.each(clashes)('%s stops the start', async (_what, plugins, fault) => {
  await expect(start(plugins)).rejects.toThrow(new StartError(`The plugins are not valid:\n  ${fault}`));
});

test.each(['setup', 'getTools', 'getSubAgents', 'getMiddlewares'] as const)(
  'a plugin whose %s throws stops the start by name, and those before it end',
  async (member) => {
    const ended: string[] = [];
    const broken = { [member]: () => Promise.reject(new Error('no disk')) };
    const plugins = [
      plugin({ name: 'first', teardown: () => void ended.push('first') }),
      plugin({ name: 'broken', ...broken }),
    ];
    await expect(start(plugins)).rejects.toThrow('plugin broken could not start: no disk');
    expect(ended).toEqual(['first']);
  },
);

test('each is set up after those it depends on and ends before them', async () => {
  const order: string[] = [];
  const traced = (name: string, dependsOn: string[] = []) =>
    plugin({
      name,
      dependsOn,
      setup: () => void order.push(`+${name}`),
      teardown: () => void order.push(`-${name}`),
    });
  const { host } = await start([traced('c', ['b']), traced('b', ['a']), traced('a')]);
  await host.close();
  expect(order).toEqual(['+a', '+b', '+c', '-c', '-b', '-a']);
});

test('a teardown that throws is logged and the others still end', async () => {
  const ended: string[] = [];
  const { host, lines } = await start([
    plugin({ name: 'a', teardown: () => void ended.push('a') }),
    plugin({
      name: 'b',
      teardown() {
        throw new Error('stuck');
      },
    }),
  ]);
  await host.close();
  expect(ended).toEqual(['a']);
  expect(lines.join('')).toContain('"plugin":"b"');
});

test('shared state is new for every request; a plugin that cannot make its own is left out', async () => {
  const { host, lines } = await start([
    plugin({ name: 'a', getSharedState: () => ({ list: () => [] as string[] }) }),
    plugin({
      name: 'b',
      getSharedState: () => ({
        broken() {
          throw new Error('no');
        },
      }),
    }),
  ]);
  const first = host.createShared();
  expect(first).toEqual({ list: [] });
  expect(host.createShared().list).not.toBe(first.list);
  expect(lines.join('')).toContain('"plugin":"b"');
});

test('routes that ask for no credentials are collected', async () => {
  const { host } = await start([
    plugin({ name: 'a', getAuthExcludedRoutes: () => ['/a'] }),
    plugin({ name: 'b', getAuthExcludedRoutes: () => [{ path: '/b', method: 'GET' }] }),
  ]);
  expect(host.publicRoutes()).toEqual(['/a', { path: '/b', method: 'GET' }]);
});

test('every plugin is notified once of a refused send; a failing listener is logged', async () => {
  const ends: unknown[] = [];
  const { host, lines } = await start([
    plugin({ name: 'a', getMiddlewares: () => [{ onTurnEnd: () => Promise.reject(new Error('deaf')) }] }),
    plugin({ name: 'b', getMiddlewares: () => [{ onTurnEnd: (end) => void ends.push(end) }] }),
    plugin({ name: 'c', getMiddlewares: () => [{ beforeSend: () => Promise.reject(new Error('no')) }] }),
  ]);
  const send = { sendId: 's', userDid: 'did:key:a', sessionId: 'x', model: 'm' };
  await expect(host.beforeSend(send as never)).rejects.toThrow('no');
  const none = { usage: { inputTokens: 0, outputTokens: 0 }, usageByModel: {} };
  expect(ends).toEqual([{ ...send, runId: undefined, status: 'refused', ...none }]);
  expect(lines.join('')).toContain('deaf');
});
