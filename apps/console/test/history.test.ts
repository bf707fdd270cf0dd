import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTempDir, waitFor } from '@palaver/test-kit';
import { afterEach, expect, test } from 'vitest';
import { startConsole } from '../src/main.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(
  handle: Parameters<typeof createServer>[1],
): Promise<{ url: string; host: string; server: Server }> {
  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.close());
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { server, host, url: `http://${host}` };
}

/** A service whose requests are what the test says they are. */
async function serveMetrics() {
  const counts = { ok: 0, failed: 0 };
  const labels = (status: number, le = '') =>
    `{method="POST",route="/api/ussd",status="${status}"${le && `,le="${le}"`}}`;
  const { url, server } = await serve(({ url: path, headers }, reply) => {
    if (path !== '/metrics' || headers.authorization !== 'Bearer secret') return void reply.writeHead(401).end();
    const name = 'http_request_duration_seconds';
    const all = counts.ok + counts.failed;
    reply.end(
      [
        `${name}_count${labels(200)} ${counts.ok}`,
        `${name}_count${labels(503)} ${counts.failed}`,
        'gateway_upstream_healthy{address="node.example:9090"} 0',
        'gateway_upstream_healthy{address="other.example:9090"} 1',
        'gateway_upstream_down_since_seconds{address="node.example:9090",cause="no route"} 1700000000',
        ...['0.1', '0.5', '+Inf'].map((le) => `${name}_bucket${labels(200, le)} ${le === '0.1' ? 0 : all}`),
      ].join('\n'),
    );
  });
  return { url, server, counts };
}

interface Alarm {
  service: string;
  kind: string;
  state: string;
  detail?: string;
  by?: string;
}

const authorization = 'Bearer secret';

/** Parts of the figures that come first on the connection. */
async function readFigures(url: string) {
  const reply = await fetch(`${url}/figures`, { headers: { authorization } });
  let text = '';
  for await (const piece of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece;
    if (text.includes('{"refused":') && text.endsWith('\n')) break;
  }
  const parts = text.trim().split('\n');
  return Object.assign({}, ...parts.map((line) => JSON.parse(line) as object)) as {
    alarms: { kind: string; clearedAt: number | null; acknowledgedBy: string | null }[];
    nodes: object[];
    refused: string[];
  };
}

test('what the services did is kept over a restart, and alarms reach the webhook once, after a retry', async () => {
  await using dir = await createTempDir();
  const ussd = await serveMetrics();
  const alarms: Alarm[] = [];
  let attempts = 0;
  const hook = await serve(async (request, reply) => {
    attempts += 1;
    if (attempts === 1) return void reply.writeHead(500).end();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    alarms.push(JSON.parse(Buffer.concat(chunks).toString()) as Alarm);
    reply.end();
  });
  const env = {
    PORT: '0',
    LOG_LEVEL: 'silent',
    DATA_DIR: dir.path,
    OPERATOR_TOKEN: 'secret',
    METRICS_INTERVAL_SECONDS: '1',
    ALARM_WEBHOOK_URL: `${hook.url}/alarms`,
    ALARM_WEBHOOK_ALLOWED_HOSTS: hook.host,
    ALARM_FAULT_PERCENT: '10',
    USSD_URL: ussd.url,
    AGENT_URL: ussd.url,
    GATEWAY_URL: ussd.url,
  };
  const first = await startConsole(env);
  const read = async (url: string) => {
    const reply = await fetch(`${url}/history?hours=1`, { headers: { authorization: 'Bearer secret' } });
    return (await reply.json()) as {
      services: Record<string, ([perSecond: number, faultShare: number, p95: number | null] | null)[]>;
      routes: { route: string; count: number; p95: number }[];
    };
  };
  const looks = async (url: string) =>
    (await read(url)).services['ussd-gateway']?.filter((point) => point !== null) ?? [];
  const busy = async (url: string) => (await looks(url)).find(([perSecond]) => perSecond > 0);
  await waitFor('a first look', async () => (await looks(first.url)).length > 0);
  Object.assign(ussd.counts, { ok: 60, failed: 40 });
  await waitFor('the faults to be seen', async () => (await busy(first.url)) !== undefined);
  expect((await busy(first.url))?.[1]).toBeCloseTo(0.4);
  const faults = () => alarms.filter(({ kind }) => kind === 'faults');
  await waitFor('an alarm of every service', () => faults().length >= 3);
  expect(new Set(faults().map(({ service, kind, state }) => `${service} ${kind} ${state}`))).toEqual(
    new Set(['ussd-gateway faults raised', 'agent faults raised', 'gateway faults raised']),
  );
  await waitFor('the alarm of a node that stays down', () => alarms.some(({ kind }) => kind === 'nodes'));
  expect(alarms.find(({ kind }) => kind === 'nodes')).toMatchObject({
    ...{ state: 'raised', value: 1, threshold: 2, detail: 'node.example:9090: no route' },
  });
  const node = { address: 'node.example:9090', healthy: false, cause: 'no route', since: 1_700_000_000_000 };
  expect((await readFigures(first.url)).nodes).toContainEqual(node);
  const { routes } = await read(first.url);
  expect(routes).toContainEqual(expect.objectContaining({ route: 'POST /api/ussd', count: 100 }));
  expect(routes[0]?.p95).toBeGreaterThan(0.1);
  expect((await fetch(`${first.url}/history`)).status).toBe(401);
  expect((await fetch(`${first.url}/history?hours=0`, { headers: { authorization: 'Bearer secret' } })).status).toBe(
    400,
  );
  const acknowledge = (kind: string) =>
    fetch(`${first.url}/alarms/acknowledge`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ service: 'agent', kind }),
    });
  expect((await acknowledge('down')).status).toBe(404);
  expect((await acknowledge('faults')).status).toBe(200);
  await waitFor('the webhook to hear who looks after the alarm', () =>
    alarms.some(({ service, state, by }) => service === 'agent' && state === 'acknowledged' && by === 'token'),
  );
  const kept = (await readFigures(first.url)).alarms.map(({ acknowledgedBy }) => acknowledgedBy);
  expect(new Set(kept)).toEqual(new Set(['token', null]));
  await first.close();

  const second = await startConsole(env);
  closers.push(() => second.close());
  expect((await busy(second.url))?.[1]).toBeCloseTo(0.4);
  await waitFor('the alarm to be cleared', async () =>
    (await readFigures(second.url)).alarms.every(({ kind, clearedAt }) => kind !== 'faults' || clearedAt !== null),
  );
  ussd.server.closeAllConnections();
  ussd.server.close();
  await waitFor('the service to be missed', () =>
    alarms.some(({ kind, state }) => kind === 'down' && state === 'raised'),
  );
});

test('a service that refuses the console is not reported as down', async () => {
  await using dir = await createTempDir();
  let looks = 0;
  const busy = await serve((_request, reply) => {
    looks += 1;
    reply.writeHead(429).end();
  });
  const targets = { USSD_URL: busy.url, AGENT_URL: busy.url, GATEWAY_URL: busy.url };
  const env = { PORT: '0', LOG_LEVEL: 'silent', DATA_DIR: dir.path, OPERATOR_TOKEN: 'secret' };
  const running = await startConsole({ ...env, ...targets, METRICS_INTERVAL_SECONDS: '1' });
  closers.push(() => running.close());
  await waitFor('five looks at each', () => looks >= 15);
  expect(await readFigures(running.url)).toMatchObject({ alarms: [], refused: ['ussd-gateway', 'agent', 'gateway'] });
});
