import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createTempDir, freePort, startProcess, type TestProcess, waitFor } from '@palaver/test-kit';
import { afterEach, expect, test, vi } from 'vitest';
import { services } from '../src/services.ts';

const launcher = join(import.meta.dirname, '../bin/palaver.js');
const started: TestProcess[] = [];

async function palaver(args: string[], env: Record<string, string> = {}): Promise<TestProcess> {
  const dir = await createTempDir();
  const child = startProcess(process.execPath, [launcher, ...args], {
    cwd: dir.path,
    env: { LOG_LEVEL: 'warn', ...env },
  });
  void child.exited.then(() => dir[Symbol.asyncDispose]());
  started.push(child);
  return child;
}

async function freePorts(): Promise<Record<string, string>> {
  const entries = await Promise.all(
    Object.values(services).map(async ({ portName }) => [portName, String(await freePort())]),
  );
  return Object.fromEntries(entries);
}

afterEach(async () => {
  for (const child of started) child.kill();
  await Promise.all(started.splice(0).map((child) => child.exited));
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  'up serves every health route, prints its table, and %s ends it with 0',
  async (signal) => {
    const ports = await freePorts();
    const child = await palaver(['up'], ports);
    await child.printed('Ctrl-C stops everything.');
    for (const { name, title, portName } of Object.values(services)) {
      expect(child.output()).toContain(title);
      if (name === 'devnode') continue; // speaks gRPC only
      const reply = await fetch(`http://127.0.0.1:${ports[portName]}/health`);
      expect([portName, reply.status]).toEqual([portName, 200]);
      expect(reply.headers.get('x-request-id')).toBeTruthy();
    }
    if (signal === 'SIGTERM') {
      const [, args = ''] = /npx palaver (gateway routes .*)/.exec(child.output()) ?? [];
      const routes = await palaver(args.split(' '));
      expect([await routes.exited, routes.output()]).toEqual([0, expect.stringContaining('/ixo/token/params')]);
    }
    child.kill(signal);
    expect(await child.exited).toBe(0);
    expect(child.output()).not.toMatch(/did not close cleanly|Not everything/);
  },
);

test('the query gateway of up takes no writes, and a report by phone still becomes a claim on the chain', async () => {
  const ports = await freePorts();
  const child = await palaver(['up'], { ...ports, CLAIMS_COLLECTION: '1', CLAIMS_INTERVAL_SECONDS: '0' });
  await child.printed('Ctrl-C stops everything.');
  const [ussd, gateway] = [`http://127.0.0.1:${ports.USSD_PORT}`, `http://127.0.0.1:${ports.GATEWAY_PORT}`];
  const post = (url: string, body: object) =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const refused = await post(`${gateway}/cosmos/tx/v1beta1/txs`, { tx_bytes: 'AQID', mode: 'BROADCAST_MODE_SYNC' });
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  const call = { serviceCode: '*1234#', phoneNumber: '+254700000001' };
  await post(`${ussd}/api/ussd`, { ...call, sessionId: 'r', text: '2*1*Ana*4071*4071' });
  const filed = await post(`${ussd}/api/ussd`, { ...call, sessionId: 'p', text: '3*1*5*4071' });
  expect(await filed.text()).toContain('Your report is filed.');
  await waitFor('the claim to be on the chain', async () => {
    const { claims } = (await (await post(`${ussd}/api/ussd/claims/process`, {})).json()) as {
      claims: Record<string, number>;
    };
    return claims.submitted === 1;
  });
});

test('every faulty and unknown variable of every service is named in one message', async () => {
  const child = await palaver(['up'], {
    USSD_PORT: 'abc',
    LOG_LEVEL: 'loud',
    GATEWAY_PROT: '1',
    CORS_ORIGIN: 'nonsense',
  });
  expect(await child.exited).toBe(1);
  expect(child.output()).toContain('USSD_PORT="abc": expected a whole number');
  expect(child.output()).toContain('LOG_LEVEL="loud"');
  expect(child.output()).toContain('GATEWAY_PROT: no such variable; did you mean GATEWAY_PORT?');
  expect(child.output()).toContain('CORS_ORIGIN="nonsense"');
  expect(child.output()).not.toContain(' at ');
});

test('a busy port is one sentence and exit 1', async () => {
  const busy = createServer().listen(0, '127.0.0.1');
  await once(busy, 'listening');
  const { port } = busy.address() as { port: number };
  const child = await palaver(['up'], { ...(await freePorts()), AGENT_PORT: String(port) });
  expect(await child.exited).toBe(1);
  expect(child.output()).toBe(
    `Starting Palaver …\nPort ${port} is already in use; stop the other program or set AGENT_PORT to another port.\n`,
  );
  busy.close();
});

test('a second start beside a running one is refused in one line that names every port and its variable', async () => {
  const ports = await freePorts();
  const first = await palaver(['up'], ports);
  await first.printed('Ctrl-C stops everything.');
  const second = await palaver(['up'], ports);
  expect(await second.exited).toBe(1);
  const [, line, rest] = second.output().split('\n');
  for (const { portName } of Object.values(services)) expect(line).toContain(`${ports[portName]} (${portName})`);
  expect(rest).toBe('');
});

test('up reports each service as it comes up, and a person at a terminal is left with the table', async ({ skip }) => {
  if (process.platform !== 'linux') skip('the terminal of this test comes from the `script` command of Linux');
  await using dir = await createTempDir();
  const env = Object.entries(await freePorts()).map(([name, value]) => `${name}=${value}`);
  // `script` gives the program a terminal.
  const command = ['env', ...env, process.execPath, launcher, 'up'].join(' ');
  const child = startProcess('script', ['-qec', command, '/dev/null'], { cwd: dir.path });
  started.push(child);
  await child.printed('Ctrl-C stops everything.');
  const port = env.find((pair) => pair.startsWith('USSD_PORT'))?.split('=')[1];
  expect((await fetch(`http://127.0.0.1:${port}/no-such-path`)).status).toBe(404);
  const log = join(dir.path, 'data/palaver.log');
  await vi.waitFor(() => expect(readFileSync(log, 'utf8')).toContain('no-such-path'), 150_000);
  const lines = child.output().split('\r\n');
  expect(lines[0]).toBe('Starting Palaver …');
  for (const { title } of Object.values(services)) {
    expect(lines.findIndex((line) => line.includes(`started ${title}`))).toBeGreaterThan(0);
  }
  expect(lines.slice(-3)).toEqual([
    'Logs are in data/palaver.log; to see them here, set LOG_LEVEL.',
    'Ctrl-C stops everything.',
    '',
  ]);
  expect(statSync(log).mode & 0o777).toBe(0o600);
  child.child.kill('SIGTERM');
});

test('a data folder that cannot be written to is one sentence and exit 1', async () => {
  await using dir = await createTempDir();
  writeFileSync(join(dir.path, 'file'), '');
  const child = await palaver(['up'], { ...(await freePorts()), DATA_DIR: join(dir.path, 'file', 'data') });
  expect(await child.exited).toBe(1);
  expect(child.output()).toContain(
    `The data folder ${dir.path}/file/data cannot be written to (ENOTDIR); set DATA_DIR to one that can.\n`,
  );
});

test('one service runs alone on PORT', async () => {
  const port = await freePort();
  const child = await palaver(['ussd'], { PORT: String(port), LOG_LEVEL: 'info' });
  await child.printed('listening on');
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).json()).toMatchObject({
    status: 'ok',
    message: 'Palaver USSD gateway running',
  });
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
});

test('a flow file that is missing or broken is one sentence and exit 1', async () => {
  await using dir = await createTempDir();
  const broken = join(dir.path, 'broken.yaml');
  writeFileSync(broken, 'name: x\nsteps: [');
  const missing = await palaver(['flow', 'replay', 'nowhere.yaml']);
  expect([await missing.exited, missing.output()]).toEqual([1, 'nowhere.yaml: there is no such file\n']);
  const child = await palaver(['flow', 'replay', broken]);
  expect(await child.exited).toBe(1);
  expect(child.output()).toMatch(/broken\.yaml: This is not a flow file: line 2 is not valid YAML \(.*\)\.\n$/);
});

test('a wrong command shows the help and exits with status 1', async () => {
  const child = await palaver(['fly']);
  expect(await child.exited).toBe(1);
  expect(child.output()).toContain("unknown command 'fly'");
  expect(child.output()).toContain('Usage: palaver');
});
