import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createTempDir, freePort, startProcess, type TestProcess } from '@palaver/test-kit';
import { afterEach, expect, test } from 'vitest';
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
    child.kill(signal);
    expect(await child.exited).toBe(0);
    expect(child.output()).not.toMatch(/did not close cleanly|Not everything/);
  },
);

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
    `Port ${port} is already in use; stop the other program or set AGENT_PORT to another port.\n`,
  );
  busy.close();
});

test('a data folder that cannot be written to is one sentence and exit 1', async () => {
  await using dir = await createTempDir();
  writeFileSync(join(dir.path, 'file'), '');
  const child = await palaver(['up'], { ...(await freePorts()), DATA_DIR: join(dir.path, 'file', 'data') });
  expect(await child.exited).toBe(1);
  expect(child.output()).toBe(
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

test('a wrong command shows the help and ends with 1', async () => {
  const child = await palaver(['fly']);
  expect(await child.exited).toBe(1);
  expect(child.output()).toContain("unknown command 'fly'");
  expect(child.output()).toContain('Usage: palaver');
});
