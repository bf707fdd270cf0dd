import { createOracleApp } from '@palaver/agent-plugins';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { request, startTestAgent, type TestAgent, type TestUser } from '../../test/test-agent.ts';
import { createTestPlugin } from '../../test/test-plugin.ts';
import { identityOf } from '../auth/auth-hook.ts';

const say = (text: string) => ({ description: 'Says.', inputSchema: z.object({}), execute: () => text });

const plugins = [
  createTestPlugin({
    name: 'plain',
    manifest: { visibility: 'always' },
    getTools: () => ({ plain_say: say('plain') }),
  }),
  createTestPlugin({ name: 'quiet', getTools: () => ({ quiet_say: say('quiet') }) }),
  createTestPlugin({
    name: 'stars',
    manifest: { visibility: 'on-demand', summary: 'Names the stars.', tags: ['astronomy'] },
    getTools: () => ({ stars_say: say('Sirius') }),
  }),
  createTestPlugin({
    name: 'weather',
    manifest: { visibility: 'on-demand', summary: 'Forecasts the weather.', tags: ['rain'] },
    getTools: () => ({ weather_say: say('rain') }),
  }),
  createTestPlugin({
    name: 'routes',
    getRoutes: () => (server) => {
      const schema = { tags: ['Routes'], summary: 'Who am I' };
      server.get('/whoami', { schema }, async (incoming) => ({ did: identityOf(incoming).did }));
      server.get('/open', { schema: { ...schema, summary: 'Open to all' } }, async () => ({ open: true }));
      server.post('/open', { schema: { hide: true } }, async () => ({ open: false }));
    },
    getAuthExcludedRoutes: () => [{ path: '/open', method: 'GET' }],
  }),
  createTestPlugin({ name: 'absent', autoDetect: () => false, autoDetectHint: 'set ABSENT=false' }),
];

let agent: TestAgent;
let ana: TestUser;

beforeAll(async () => {
  agent = await startTestAgent({
    plugins,
    hooks: {
      addRoutes(server) {
        server.get('/host', { schema: { summary: 'Of the host' } }, async () => ({ host: true }));
        server.get('/host/open', async () => ({ host: true }));
      },
    },
    authExcludedRoutes: ['/host/*'],
  });
  ana = await agent.createUser();
});
afterAll(() => agent[Symbol.asyncDispose]());

const answer = async (sessionId: string, text: string) => (await ana.say(sessionId, text)).body.message;

test('always and silent plugins have their tools bound, on-demand ones do not', async () => {
  const sessionId = await ana.createSession();
  expect((await answer(sessionId, '/tool plain_say')).content).toBe('plain_say: plain');
  expect((await answer(sessionId, '/tool quiet_say')).content).toBe('quiet_say: quiet');
  expect((await answer(sessionId, '/tool stars_say')).content).toMatch(/^There is no tool "stars_say"/);
});

test('an on-demand plugin is found, loaded, and stays loaded in its session alone', async () => {
  const sessionId = await ana.createSession();
  const listed = await answer(sessionId, '/tool list_capabilities');
  expect(listed.toolCalls[0].output.capabilities.map(({ name }: { name: string }) => name)).toEqual(
    expect.arrayContaining(['stars', 'weather']),
  );
  const found = await answer(sessionId, '/tool list_capabilities {"query": "astronomy"}');
  expect(found.toolCalls[0].output.capabilities).toEqual([
    { name: 'stars', title: 'stars', summary: 'Names the stars.', whenToUse: expect.any(Array), tags: ['astronomy'] },
  ]);
  const loaded = await answer(sessionId, '/tool load_capability {"name": "stars"}');
  expect(loaded.toolCalls[0].output).toEqual({ loaded: 'stars', tools: ['stars_say'] });
  expect((await answer(sessionId, '/tool stars_say')).content).toBe('stars_say: Sirius');
  expect((await answer(sessionId, '/tool weather_say')).content).toMatch(/^There is no tool/);
  expect((await answer(await ana.createSession(), '/tool stars_say')).content).toMatch(/^There is no tool/);
});

test('loading what does not exist is refused with what to do', async () => {
  const { toolCalls } = await answer(await ana.createSession(), '/tool load_capability {"name": "moon"}');
  expect(toolCalls[0]).toMatchObject({ status: 'error', error: expect.stringContaining('list_capabilities') });
});

test('routes are protected unless excluded, method by method', async () => {
  expect((await request(`${agent.url}/whoami`)).body).toMatchObject({ statusCode: 401, code: 'UCAN_MISSING' });
  expect((await ana.send('GET', '/whoami')).body).toEqual({ did: ana.did });
  expect((await request(`${agent.url}/open`)).body).toEqual({ open: true });
  expect((await request(`${agent.url}/open`, { method: 'POST' })).status).toBe(401);
  expect((await request(`${agent.url}/host`)).status).toBe(401);
  expect((await ana.send('GET', '/host')).body).toEqual({ host: true });
  expect((await request(`${agent.url}/host/open`)).body).toEqual({ host: true });
});

test('routes of plugins and of the host are in the documentation', async () => {
  const { paths } = (await request(`${agent.url}/docs/json`)).body;
  expect(paths['/whoami'].get).toMatchObject({ summary: 'Who am I', tags: ['Routes'] });
  expect(paths['/open'].get.summary).toBe('Open to all');
  expect(paths['/open'].post).toBeUndefined();
  expect(paths['/host'].get.summary).toBe('Of the host');
  expect(Object.keys(paths['/user-preferences'])).toContain('get');
});

test('status lists every plugin, and a fault in the app stops its start', async () => {
  const env = {
    DATABASE_URL: 'file::memory:',
    ORACLE_PRIVATE_KEY: '4bd22700ec3450b5f27e47ba70c233a680c981ab02c1432a859ae23111bef377',
    LOG_LEVEL: 'silent',
  };
  const app = await createOracleApp({ plugins, features: { 'user-preferences': false, quiet: false }, env });
  const status = new Map(app.plugins.status().map((entry) => [entry.name, entry]));
  expect(status.get('user-preferences')).toMatchObject({ loaded: false, reason: 'switched off by features' });
  expect(status.get('plain')).toMatchObject({ loaded: true, reason: 'on by default' });
  expect(status.get('absent')).toMatchObject({ loaded: false, reason: 'set ABSENT=false' });
  expect((await app.inject({ url: '/user-preferences' })).statusCode).toBe(404);
  await app.close();
  await expect(createOracleApp({ features: { 'user-prefs': false }, env })).rejects.toThrow('user-prefs');
});
