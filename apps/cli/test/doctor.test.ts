import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { createTempDir, startProcess } from '@palaver/test-kit';
import { expect, inject, test } from 'vitest';
import type { Finding } from '../src/doctor/examine.ts';

const launcher = join(import.meta.dirname, '../bin/palaver.js');

async function doctor(env: Record<string, string>): Promise<{ code: number | string; findings: Finding[] }> {
  await using dir = await createTempDir();
  const child = startProcess(process.execPath, [launcher, 'doctor', '--json'], {
    cwd: dir.path,
    env: { DATA_DIR: dir.path, ...env },
  });
  return { code: await child.exited, findings: JSON.parse(child.output()) };
}

const stateOf = (findings: Finding[], what: string) =>
  findings.filter((finding) => finding.what === what).map(({ state }) => state);

test('with nothing set all is well, and it says what each upgrade would take', async () => {
  const { code, findings } = await doctor({ USSD_PORT: '1', AGENT_PORT: '1', GATEWAY_PORT: '1' });
  expect(findings.filter(({ state }) => state === 'fault')).toEqual([]);
  expect(code).toBe(0);
  expect(stateOf(findings, 'database')).toEqual(['ok']);
  expect(findings.filter(({ state }) => state === 'off').every(({ remedy }) => remedy)).toBe(true);
});

test('what is wrong is found, each with a remedy, without a secret, and it exits with status 1', async () => {
  const { code, findings } = await doctor({
    DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:1/x',
    REDIS_URL: 'redis://:hunter2@127.0.0.1:1',
    LLM_PROVIDER: 'openai',
    GATEWAY_UPSTREAMS: '127.0.0.1:1',
    SLACK_BOT_TOKEN: 'hunter2',
    LOG_LEVEL: 'loud',
  });
  expect(code).toBe(1);
  for (const what of ['configuration', 'database', 'Redis', 'language model', 'protocol node', 'Slack']) {
    expect([what, stateOf(findings, what)]).toEqual([what, expect.arrayContaining(['fault'])]);
  }
  expect(JSON.stringify(findings)).not.toContain('hunter2');
});

test('a database that answers is found', async () => {
  const { findings } = await doctor({ DATABASE_URL: inject('postgresUrl') });
  expect(stateOf(findings, 'database')).toEqual(['ok']);
});

test('a node is called: a port that only takes connections is a fault', async () => {
  const server = createServer((socket) => socket.on('error', () => undefined));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { findings } = await doctor({ GATEWAY_UPSTREAMS: address });
  server.close();
  expect(findings.filter(({ what }) => what === 'protocol node')).toMatchObject([
    { state: 'fault', found: expect.stringContaining('no HTTP/2 within 3 s') },
  ]);
});

test('the RPC of a node is asked, and its password is not shown', async () => {
  const url = 'http://us:hidden-word@127.0.0.1:1';
  const { findings } = await doctor({ GATEWAY_RPC: url });
  const found = findings.filter(({ what }) => what === 'RPC of the node');
  expect(found).toMatchObject([{ state: 'fault', remedy: 'check GATEWAY_RPC' }]);
  expect(JSON.stringify(found)).not.toContain('hidden-word');
});
