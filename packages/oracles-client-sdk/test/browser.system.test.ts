import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createTempDir, freePort, launchBrowser, startProcess, waitFor } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { buildPage } from './build-page.ts';
import {
  createKey,
  logOf,
  messages,
  newSession,
  openPage,
  type Page,
  send,
  waitForStatus,
  words,
} from './open-page.ts';
import { serveFiles } from './serve-files.ts';
import { payFirst, settleClaim, startAgent, type TestAgent } from './start-agent.ts';
import { startHomeserver, startProtocol } from './start-protocol.ts';

let browser: Awaited<ReturnType<typeof launchBrowser>>;
let agent: TestAgent;
const sites = new Map<number, Awaited<ReturnType<typeof serveFiles>>>();

beforeAll(async () => {
  agent = await startAgent({ OFFLINE_WORDS_PER_SECOND: '60' });
  for (const version of [18, 19] as const) sites.set(version, await serveFiles(await buildPage(version)));
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  for (const site of sites.values()) await site.close();
  await agent?.[Symbol.asyncDispose]();
});

async function open(params: Record<string, string> = {}, version = 19): Promise<Page> {
  const site = sites.get(version);
  if (!site) throw new Error(`no page with React ${version}`);
  const key = params.key ?? (await createKey());
  return openPage(browser, site.url, { url: agent.url, did: agent.did, ...params, key });
}

// For people to look at, in the folder SCREENSHOTS names.
async function show(page: Page, name: string): Promise<void> {
  // biome-ignore lint/style/noProcessEnv: chosen by the person who runs the tests, not configuration.
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}

const lastMessage = async (page: Page) => (await messages(page)).at(-1) ?? '';

describe.each([18, 19])('React %i in strict mode', (version) => {
  it.each(['immediate', 'batched'])('streams an answer (%s)', async (mode) => {
    const page = await open({ mode }, version);
    expect(await page.locator('h1').textContent()).toMatch(new RegExp(`^React ${version}`));
    await newSession(page);
    await send(page, '/long 60');
    await waitFor('the answer', async () => (await lastMessage(page)) === words(60));
    await waitForStatus(page, 'ready');
    expect(await messages(page)).toEqual(['/long 60', words(60)]);
    const { lengths, signed } = await logOf(page);
    expect(new Set(lengths).size).toBeGreaterThan(5);
    // Strict mode mounts everything twice; one signing serves all of it.
    expect(signed).toBe(1);
    await show(page, `streamed-react-${version}-${mode}`);
  });

  it('runs browser tools and actions, drawn inline with their states', async () => {
    const page = await open({}, version);
    await newSession(page);
    await send(page, '/tool set_theme {"theme": "dark"}');
    await waitForStatus(page, 'ready');
    expect(await lastMessage(page)).toContain('set_theme: {"was":"light"}');
    expect(await page.locator('#chat').getAttribute('data-theme')).toBe('dark');

    await send(page, '/tool paint {"colour": "green"}');
    await page.locator('[data-action="done"]').waitFor();
    await waitForStatus(page, 'ready');
    expect(await page.locator('[data-action="done"]').textContent()).toBe('Box green: done painted green (theme dark)');
    // Drawn too briefly for a busy machine to find it on the page.
    expect((await logOf(page)).drawn).toContain('executing');

    await send(page, '/tool paint {"colour": "none"}');
    await page.locator('[data-action="error"]').waitFor();
    await waitForStatus(page, 'ready');
    await send(page, '/tool set_theme {"theme": "light"}');
    await waitForStatus(page, 'ready');
    // What was drawn before shows what is true now.
    expect(await page.locator('[data-action="done"]').textContent()).toContain('(theme light)');
    expect((await logOf(page)).calls).toEqual([
      ['set_theme', { theme: 'dark' }],
      ['paint', 'green', 0],
      ['paint', 'none', 1],
      ['set_theme', { theme: 'light' }],
    ]);
    await show(page, `tools-react-${version}`);
  });

  it('says what a hook outside of the provider is missing', async () => {
    const page = await open({ outside: 'yes' }, version);
    expect(await page.locator('#outside').textContent()).toBe(
      'useOraclesContext must be used within a OraclesProvider',
    );
  });
});

it('exports what the specification names, and nothing it rules out', async () => {
  const page = await open();
  const names = await page.evaluate(() => (globalThis as unknown as { sdkNames: string[] }).sdkNames);
  expect(names.toSorted()).toEqual([
    'IDLE_RUN_STATE',
    'OracleError',
    'OraclesProvider',
    'getOpenIdToken',
    'renderMessageContent',
    'useAgAction',
    'useChat',
    'useContractOracle',
    'useGetOpenIdToken',
    'useMemoryEngine',
    'useModels',
    'useOracleEvents',
    'useOracleSessions',
    'useOraclesConfig',
    'useOraclesContext',
  ]);
});

it('lists a session that was created while the list was on its way', async () => {
  const page = await open();
  const held = Promise.withResolvers<void>();
  await page.route('**/sessions?*', async (route) => {
    const response = await route.fetch();
    await held.promise;
    await route.fulfill({ response });
  });
  await page.reload();
  await newSession(page);
  held.resolve();
  await page.locator('#sessions li').waitFor();
});

it('keeps the newest list of sessions when an older reply arrives late', async () => {
  const page = await open();
  await newSession(page);
  const held = Promise.withResolvers<void>();
  await page.route(
    '**/sessions?*',
    async (route) => {
      const response = await route.fetch();
      await held.promise;
      const body = (await response.text()).replaceAll(/"title":"[^"]*"/g, '"title":"older"');
      await route.fulfill({ response, body });
    },
    { times: 1 },
  );
  await send(page, '/long 1');
  await waitForStatus(page, 'ready');
  await send(page, '/long 2');
  await page.locator('#sessions').getByText('/long 1').waitFor();
  const older = page.waitForEvent('requestfinished', (request) => request.url().includes('/sessions?'));
  held.resolve();
  await older;
  for (let frame = 0; frame < 3; frame += 1) await page.evaluate('new Promise(requestAnimationFrame)');
  expect(await page.locator('#sessions').textContent()).toContain('/long 1');
});

it('continues from an earlier message in a session of its own', async () => {
  const page = await open();
  await newSession(page);
  for (const text of ['/long 1', '/long 2']) {
    await send(page, text);
    await waitForStatus(page, 'ready');
  }
  await page.getByRole('button', { name: 'Fork' }).click();
  await waitFor('the fork', async () => (await page.locator('#sessions li').count()) === 2);
  await waitFor('its past', async () => (await messages(page)).length === 2);
  await send(page, '/long 3');
  await waitForStatus(page, 'ready');
  expect(await messages(page)).toEqual(['/long 1', words(1), '/long 3', words(3)]);
});

it('stops an answer and keeps what was said', async () => {
  const page = await open();
  await newSession(page);
  await send(page, '/long 5000');
  await waitFor('some words', async () => (await lastMessage(page)).length > 50);
  await page.getByRole('button', { name: 'Stop' }).click();
  await waitForStatus(page, 'ready');
  const said = await lastMessage(page);
  expect(words(5000).startsWith(said)).toBe(true);
  expect(await page.locator('#messages > li').last().getAttribute('data-status')).toBe('aborted');
});

it('takes an answer up again after a reload, and can stop it then', async () => {
  const key = await createKey();
  const first = await open({ key });
  await newSession(first);
  await send(first, '/long 50000');
  await waitFor('some words', async () => (await lastMessage(first)).length > 50);
  await first.reload();
  await first.locator('#sessions button').first().click();
  await waitForStatus(first, 'streaming');
  await waitFor('more words', async () => (await lastMessage(first)).length > 100);
  await first.getByRole('button', { name: 'Stop' }).click();
  await waitForStatus(first, 'ready');
  const [question, answer = ''] = await messages(first);
  expect(question).toBe('/long 50000');
  expect(words(50_000).startsWith(answer)).toBe(true);
});

it('survives a killed service: the answer continues where it was, nothing lost or doubled', async () => {
  await using dir = await createTempDir();
  const port = await freePort();
  const start = async () => {
    const main = fileURLToPath(new URL('../../../services/agent/src/main.ts', import.meta.url));
    const env = { PORT: String(port), DATA_DIR: dir.path, OFFLINE_WORDS_PER_SECOND: '60', LOG_LEVEL: 'info' };
    const service = startProcess(process.execPath, [main], { env });
    onTestFinished(async () => {
      service.kill();
      await service.exited;
    });
    await service.printed('listening');
    return service;
  };
  const service = await start();
  const url = `http://127.0.0.1:${port}`;
  const { id: did } = (await (await fetch(`${url}/.well-known/did.json`)).json()) as { id: string };
  const page = await open({ url, did });
  await newSession(page);
  await send(page, '/long 120');
  await waitFor('some words', async () => (await lastMessage(page)).length > 60);
  service.kill('SIGKILL');
  await service.exited;
  const seen = await lastMessage(page);
  await start();
  await waitFor('the whole answer', async () => (await lastMessage(page)) === words(120));
  expect(words(120).startsWith(seen)).toBe(true);
  await waitForStatus(page, 'ready');
  await page.locator('#chat[data-connected="true"]').waitFor();
  await show(page, `killed`);
  expect(await messages(page)).toEqual(['/long 120', words(120)]);
});

it('shows a payment wall to the application', async () => {
  await using wall = await startAgent(payFirst);
  const page = await open({ url: wall.url, did: wall.did });
  await newSession(page);
  await send(page, '/long 3');
  await waitForStatus(page, 'error');
  const [claimIds] = (await logOf(page)).payments;
  expect(claimIds).toEqual([expect.any(String)]);
  expect(await page.locator('#messages > li').last().getAttribute('data-status')).toBe('failed');
  await show(page, 'payment');
  await settleClaim(wall, claimIds?.[0] ?? '');
  await page.getByRole('button', { name: 'Retry' }).click();
  await waitForStatus(page, 'ready');
  expect(await messages(page)).toEqual(['/long 3', words(3)]);
  await show(page, 'paid');
});

it('keeps two tabs of one session together', async () => {
  const key = await createKey();
  const first = await open({ key });
  await newSession(first);
  await send(first, '/long 2');
  await waitForStatus(first, 'ready');
  const second = await open({ key });
  await second.locator('#sessions button').first().click();
  await second.locator('#chat[data-connected="true"]').waitFor();
  await send(first, '/long 50000');
  await waitForStatus(second, 'streaming');
  await second.getByRole('button', { name: 'Stop' }).click();
  await waitForStatus(first, 'ready');
  await waitForStatus(second, 'ready');
  const [, , question, answer = ''] = await messages(second);
  expect(question).toBe('/long 50000');
  expect(words(50_000).startsWith(answer)).toBe(true);
  await waitFor('the same in both', async () => (await lastMessage(first)) === (await lastMessage(second)));
  // A call goes to the tab that asked for it, although the other one connected later.
  await send(first, '/tool paint {"colour": "blue"}');
  await waitForStatus(first, 'ready');
  expect((await logOf(first)).calls).toEqual([['paint', 'blue', 0]]);
  expect((await logOf(second)).calls).toEqual([]);
});

it('shares one chat between components of one session: one socket, all tools, every event once', async () => {
  const page = await open({ twice: 'yes' });
  const sockets: string[] = [];
  page.on('websocket', (socket) => sockets.push(socket.url()));
  await newSession(page);
  await page.locator('#second[data-connected="true"]').waitFor({ state: 'attached' });
  await send(page, '/tool set_theme {"theme": "dark"}');
  await waitForStatus(page, 'ready');
  await send(page, '/tool second_tool {}');
  await waitForStatus(page, 'ready');
  const { calls, events, finished } = await logOf(page);
  expect(calls).toEqual([['set_theme', { theme: 'dark' }], ['second_tool']]);
  expect(await page.locator('#second').textContent()).toContain('second_tool: from the second');
  expect(sockets).toHaveLength(1);
  expect(events.filter((name) => name === 'done')).toHaveLength(2);
  expect(finished).toBe(2);
});

it('finds the only agent of the page for hooks that are given none', async () => {
  await using gateway = await startProtocol(agent);
  const page = await open({ url: '', gateway: gateway.url, bare: 'yes' });
  await newSession(page);
  await page.getByRole('button', { name: 'Remember' }).click();
  await waitFor('the memory', async () => (await page.locator('#memory').textContent())?.includes('likes tea'));
});

it('says so when contracting an agent costs nothing', async () => {
  const page = await open();
  await page.getByRole('button', { name: 'Contract' }).click();
  await page.locator('#contract[data-contracted="true"]').waitFor();
  await waitFor('the status', async () => (await page.locator('#contract').textContent())?.startsWith('free'));
  expect((await logOf(page)).transactions).toEqual([]);
});

it('fails a send at once while the device is offline', async () => {
  const page = await open();
  await newSession(page);
  await page.context().setOffline(true);
  await send(page, 'hello');
  await waitForStatus(page, 'error');
  expect(await page.locator('#error').textContent()).toContain('This device is offline.');
  await page.context().setOffline(false);
  await page.getByRole('button', { name: 'Retry' }).click();
  await waitForStatus(page, 'ready');
  expect(await messages(page)).toHaveLength(2);
});

it('finds the agent by its DID, contracts and pays it, remembers, and lists sessions by their names', async () => {
  await using gateway = await startProtocol(agent);
  await using homeserver = await startHomeserver();
  const page = await open({ url: '', gateway: gateway.url, matrix: homeserver.url });
  await newSession(page);
  expect(await page.locator('#config').textContent()).toContain('"oracleName":"Test agent","model":"offline"');
  expect(await page.locator('#open-id').textContent()).toMatch(/^open-id-/);

  await page.getByRole('button', { name: 'Contract' }).click();
  await page.locator('#contract[data-contracted="true"]').waitFor();
  await page.getByRole('button', { name: 'Pay' }).click();
  await waitFor('the payment', async () => (await logOf(page)).transactions.length === 2);
  const payment = (amount: string, memo: string) => ({
    memo,
    messages: [
      {
        typeUrl: '/cosmos.bank.v1beta1.MsgSend',
        value: {
          fromAddress: 'ixo1user',
          toAddress: expect.stringMatching(/^ixo1/),
          amount: [{ denom: 'uixo', amount }],
        },
      },
    ],
  });
  expect((await logOf(page)).transactions).toEqual([
    payment('2500', expect.stringMatching(/^contract did:key:z/)),
    payment('5000', 'claims claim-1 claim-2'),
  ]);

  await page.getByRole('button', { name: 'Remember' }).click();
  await waitFor('the memory', async () => (await page.locator('#memory').textContent())?.includes('likes tea'));

  await send(page, '/long 3');
  await waitForStatus(page, 'ready');
  await page.locator('#sessions').getByText('/long 3').waitFor();
  await show(page, 'protocol');
  await page.locator('#sessions').getByRole('button', { name: 'Delete' }).click();
  await waitFor('an empty list', async () => (await page.locator('#sessions li').count()) === 0);

  await page.getByRole('button', { name: 'Call' }).click();
  await waitFor('the refusal', async () =>
    (await page.locator('#call').textContent())?.includes('does not take calls'),
  );
});

it('creates a session that was asked for before the agent was found', async () => {
  await using gateway = await startProtocol(agent);
  const found = Promise.withResolvers<void>();
  const slow = createServer(async ({ url }, response) => {
    await found.promise;
    const reply = await fetch(`${gateway.url}${url}`);
    const headers = { 'access-control-allow-origin': '*', 'content-type': 'application/json' };
    response.writeHead(reply.status, headers).end(await reply.text());
  }).listen(0, '127.0.0.1');
  await once(slow, 'listening');
  try {
    const page = await open({ url: '', gateway: `http://127.0.0.1:${(slow.address() as AddressInfo).port}` });
    await page.getByRole('button', { name: 'New session' }).click();
    found.resolve();
    await page.locator('#chat[data-connected="true"]').waitFor({ timeout: 30_000 });
  } finally {
    slow.close();
  }
});

it('says so when a call cannot be connected, and hangs up', async () => {
  const liveKit = {
    LIVEKIT_URL: 'ws://127.0.0.1:1',
    LIVEKIT_API_KEY: 'key',
    LIVEKIT_API_SECRET: 'a-long-random-secret',
  };
  await using calls = await startAgent(liveKit);
  const page = await open({ url: calls.url, did: calls.did });
  const ended = page.waitForRequest((request) => request.method() === 'DELETE' && request.url().includes('/calls/'));
  await newSession(page);
  await page.getByRole('button', { name: 'Call' }).click();
  await ended;
  await page.locator('#call[data-status="idle"]').waitFor();
  await waitFor('the reason', async () =>
    (await page.locator('#call').textContent())?.includes('could not be connected'),
  );
});
