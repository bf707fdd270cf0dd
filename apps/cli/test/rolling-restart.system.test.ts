import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  balancerCheckMs,
  createTempDir,
  createTestDatabase,
  freePort,
  startBalancer,
  startProcess,
  type TestProcess,
  testWithRedis,
  waitFor,
} from '@palaver/test-kit';
import { createInvocation, createSigner } from '@palaver/ucan';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const drainDelayMs = 8 * balancerCheckMs;
const shared = {
  LOG_LEVEL: 'info',
  DRAIN_DELAY_MS: String(drainDelayMs),
  PIN_ENCRYPTION_KEY: '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
  RATE_LIMIT_PER_MINUTE: '1000000',
};

interface Instance {
  port: number;
  process: TestProcess;
}

/** Two instances behind a balancer, stopped and started one after the other while a silent connection is open. */
async function rollUnderLoad(main: string, env: Record<string, string>, ask: (url: string) => Promise<void>) {
  await using children = new AsyncDisposableStack();
  const start = async (port: number): Promise<Instance> => {
    const process = startProcess(globalThis.process.execPath, [`${root}${main}`], {
      env: { ...shared, ...env, PORT: String(port) },
    });
    children.defer(async () => {
      process.kill();
      await process.exited;
    });
    await process.printed(/listening on/);
    return { port, process };
  };
  const instances = [await start(await freePort()), await start(await freePort())];
  const balancer = children.use(await startBalancer(instances.map(({ port }) => port)));
  let asked = 0;
  let stop = false;
  const failures: unknown[] = [];
  const load = Array.from({ length: 8 }, async () => {
    while (!stop) {
      asked += 1;
      await ask(balancer.url).catch((error: unknown) => failures.push(error));
      // A restart takes seconds: more requests would only take its CPU time.
      await sleep(20);
    }
  });
  for (const [index, { port, process }] of instances.entries()) {
    const before = asked;
    await waitFor('some requests', () => asked > before + 40);
    const silent = connect(port, '127.0.0.1').on('error', () => {});
    process.kill('SIGTERM');
    expect(await process.exited).toBe(0);
    expect(process.output()).not.toContain('Not everything ended in time');
    silent.destroy();
    instances[index] = await start(port);
    await waitFor('the instance to be ready', async () => (await fetch(`http://127.0.0.1:${port}/ready`)).ok);
    await sleep(4 * balancerCheckMs);
  }
  stop = true;
  await Promise.all(load);
  return { asked, failures };
}

test('USSD: instances restarted one after the other under load fail no request', async () => {
  await using database = await createTestDatabase('postgres');
  let next = 0;
  const ask = async (url: string) => {
    next += 1;
    const phoneNumber = `+25470${String(next).padStart(7, '0')}`;
    const body = JSON.stringify({ sessionId: `s${next}`, serviceCode: '*1234#', phoneNumber, text: '' });
    const response = await fetch(`${url}/api/ussd`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const text = await response.text();
    if (response.status !== 200 || !text.startsWith('CON ')) throw new Error(`${response.status} ${text}`);
  };
  const { asked, failures } = await rollUnderLoad('services/ussd/src/main.ts', { DATABASE_URL: database.url }, ask);
  expect(failures).toEqual([]);
  expect(asked).toBeGreaterThan(80);
});

test('query gateway: the same', async () => {
  const devnode = startProcess(process.execPath, [`${root}services/devnode/src/main.ts`], { env: { PORT: '0' } });
  await devnode.printed(/development node on \S+:\d+/);
  const upstream = /development node on ([\d.]+:\d+)/.exec(devnode.output())?.[1] ?? '';
  const ask = async (url: string) => {
    const response = await fetch(`${url}/ixo/token/params`);
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    await response.text();
  };
  const { failures } = await rollUnderLoad('services/gateway/src/main.ts', { GATEWAY_UPSTREAMS: upstream }, ask);
  devnode.kill();
  await devnode.exited;
  expect(failures).toEqual([]);
});

testWithRedis('agent: the same, every answer complete', async ({ redisUrl }) => {
  await using database = await createTestDatabase('postgres');
  await using dir = await createTempDir();
  const key = await createSigner();
  const user = await createSigner();
  const capability = { can: 'oracle/chat', with: 'ixo:oracle' } as const;
  const { serialized } = await createInvocation({ issuer: user, audience: key.did(), capability });
  const headers = {
    authorization: `Bearer ${serialized}`,
    'x-auth-type': 'ucan',
    'content-type': 'application/json',
  };
  const post = async (url: string, body: object) => {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status} ${text}`);
    return JSON.parse(text);
  };
  const ask = async (url: string) => {
    const { sessionId } = await post(`${url}/sessions`, {});
    const { message } = await post(`${url}/messages/${sessionId}`, { message: '/long 10', stream: false });
    if (message.status !== 'complete') throw new Error(JSON.stringify(message));
  };
  const env = {
    DATABASE_URL: database.url,
    REDIS_URL: redisUrl,
    DATA_DIR: dir.path,
    ORACLE_PRIVATE_KEY: key.toSecret(),
    SENDS_PER_MINUTE: '1000000',
  };
  const { failures } = await rollUnderLoad('services/agent/src/main.ts', env, ask);
  expect(failures).toEqual([]);
});
