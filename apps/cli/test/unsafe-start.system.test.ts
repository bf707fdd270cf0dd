import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir, startProcess } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import type { Finding } from '../src/doctor/examine.ts';

const launcher = join(import.meta.dirname, '../bin/palaver.js');

async function run(args: string[], env: Record<string, string>): Promise<{ code: number | string; output: string }> {
  await using dir = await createTempDir();
  const child = startProcess(process.execPath, [launcher, ...args], {
    cwd: dir.path,
    env: { LOG_LEVEL: 'silent', ...env },
  });
  return { code: await child.exited, output: child.output() };
}

const exposed = { NODE_ENV: 'production', HOST: '0.0.0.0' };
const long = 'k3-q7xw5mz'.repeat(4);
const needed = [
  'OPERATOR_TOKEN',
  'PIN_ENCRYPTION_KEY',
  'USSD_SHARED_SECRET',
  'ORACLE_PRIVATE_KEY',
  'GATEWAY_UPSTREAMS',
];

test('production on an address that others reach does not start unsafely; one message names everything', async () => {
  const { code, output } = await run(['up'], { ...exposed, RATE_LIMIT_PER_MINUTE: 'many' });
  expect(code).toBe(1);
  for (const name of [...needed, 'RATE_LIMIT_PER_MINUTE', 'GATEWAY_ALLOW_DEVNODE'])
    expect(output).toContain(`\n  ${name}`);
  expect(output.match(/The configuration is not valid/g)).toHaveLength(1);
});

test('each service alone refuses what concerns it', async () => {
  const expected: Record<string, string[]> = {
    ussd: ['OPERATOR_TOKEN', 'PIN_ENCRYPTION_KEY', 'USSD_SHARED_SECRET'],
    agent: ['OPERATOR_TOKEN', 'ORACLE_PRIVATE_KEY'],
    gateway: ['GATEWAY_UPSTREAMS', 'OPERATOR_TOKEN'],
    console: ['OPERATOR_TOKEN'],
    devnode: ['GATEWAY_ALLOW_DEVNODE'],
  };
  for (const [service, names] of Object.entries(expected)) {
    const { code, output } = await run([service], exposed);
    const named = [...output.matchAll(/^ {2}([A-Z_]+)/gm)].map(([, name]) => name).sort();
    expect([service, code, named]).toEqual([service, 1, names]);
  }
});

const examples = readFileSync(join(import.meta.dirname, '../../../.env.example'), 'utf8');
const names = ['OPERATOR_TOKEN', 'ORACLE_PRIVATE_KEY'];
const values = names.map((name) => [name, new RegExp(`^#${name}=.*for example (.+)$`, 'm').exec(examples)?.[1] ?? '']);

test('a secret out of the documentation is refused', async () => {
  for (const where of [exposed, { NODE_ENV: 'production' }]) {
    const { code, output } = await run(['agent'], { ...where, PORT: '0', ...Object.fromEntries(values) });
    expect(code).toBe(1);
    for (const name of names) expect(output).toContain(`${name}: this is an example of the documentation`);
  }
});

test("the agent's key of the documentation is refused in multibase too", async () => {
  const [, key = ''] = values.find(([name]) => name === 'ORACLE_PRIVATE_KEY') ?? [];
  const multibase = `M${Buffer.concat([Buffer.from('8026', 'hex'), Buffer.from(key, 'hex')]).toString('base64')}`;
  const { output } = await run(['agent'], { NODE_ENV: 'production', PORT: '0', ORACLE_PRIVATE_KEY: multibase });
  expect(output).toContain('ORACLE_PRIVATE_KEY: this is an example of the documentation');
});

test('a short secret is refused, and not repeated', async () => {
  const { code, output } = await run(['ussd'], {
    ...exposed,
    OPERATOR_TOKEN: 'hunter2',
    USSD_SHARED_SECRET: 'hunter3',
  });
  expect(code).toBe(1);
  expect(output).toMatch(/OPERATOR_TOKEN: expected at least 32 characters/);
  expect(output).toMatch(/USSD_SHARED_SECRET: expected at least 32 characters/);
  expect(output).not.toMatch(/hunter/);
});

test('palaver doctor says the same beforehand, and what a misspelt variable was meant to be', async () => {
  const { code, output } = await run(['doctor', '--json'], {
    ...exposed,
    LLM_PROVIDR: 'openai',
    TRUST_PROXY_ENABLD: 'true',
  });
  const found = (JSON.parse(output) as Finding[])
    .filter(({ what }) => what === 'configuration')
    .map(({ found }) => found);
  expect(code).toBe(1);
  for (const name of needed) expect(found.filter((text) => text.startsWith(`${name} `))).toHaveLength(1);
  expect(found).toContain('LLM_PROVIDR: no such variable; did you mean LLM_PROVIDER?');
  expect(found).toContain('TRUST_PROXY_ENABLD: no such variable; did you mean TRUST_PROXY_ENABLED?');
  const safe = {
    OPERATOR_TOKEN: long,
    PIN_ENCRYPTION_KEY: '9f3c71e5a8d02b64'.repeat(4),
    USSD_ALLOWED_IPS: '10.0.0.0/8',
    ORACLE_PRIVATE_KEY: '0d5e82b7c4a1f936'.repeat(4),
    GATEWAY_ALLOW_DEVNODE: 'true',
  };
  const good = JSON.parse((await run(['doctor', '--json'], { ...exposed, ...safe })).output) as Finding[];
  expect(good.filter(({ what, state }) => what === 'configuration' && state === 'fault')).toEqual([]);
});
