import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startAgent } from '@palaver/agent-service';
import { createTempDir, startProcess } from '@palaver/test-kit';
import { startUssd } from '@palaver/ussd';
import { expect, test } from 'vitest';

const launcher = join(import.meta.dirname, '../bin/palaver.js');
const phoneNumber = '+254700000091';
const canaries = [phoneNumber, 'Anazebra', 'Zebedee', 'zebed'];

test('keys are set, rotated while services run, and the old one dropped; no file contains words of users', async () => {
  await using dir = await createTempDir();
  const base = { PORT: '0', DATA_DIR: dir.path, LOG_LEVEL: 'silent', USSD_WATCH_MENUS: 'false' };
  const start = async (keys: string[]) => {
    const env = { ...base, DATA_ENCRYPTION_KEY: keys.join(',') };
    const agent = await startAgent(env);
    const ussd = await startUssd({ ...env, AGENT_URL: agent.url });
    const say = async (sessionId: string, text: string) => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ sessionId, serviceCode: '*1234#', phoneNumber, text });
      return (await fetch(`${ussd.url}/api/ussd`, { method: 'POST', headers, body })).text();
    };
    const close = async () => {
      await ussd.close();
      await agent.close();
    };
    return { say, close };
  };
  const palaver = async (keys: string[], ...args: string[]) => {
    const env = { DATA_DIR: dir.path, DATA_ENCRYPTION_KEY: keys.join(',') };
    const child = startProcess(process.execPath, [launcher, ...args], { cwd: dir.path, env });
    return [await child.exited, child.output()] as const;
  };
  /** Files of the databases that hold one of the canaries. */
  const search = async () => {
    const names = (await readdir(dir.path)).filter((name) => name.includes('.sqlite'));
    const texts = await Promise.all(names.map((name) => readFile(join(dir.path, name), 'latin1')));
    return names.filter((_, index) => canaries.some((canary) => texts[index]?.includes(canary)));
  };
  const [first, second] = [randomBytes(32).toString('hex'), randomBytes(32).toString('base64')];

  const plain = await start([]);
  await plain.say('q', '4*remember that my dog is called Zebedee');
  await plain.say('r', '2*1*Anazebra*4071*4071');
  await plain.close();
  expect(await search()).toEqual(['agent.sqlite', 'ussd.sqlite']);
  expect(await palaver([], 'keys', 'rotate')).toEqual([1, expect.stringContaining('DATA_ENCRYPTION_KEY is not set')]);

  const encrypted = await start([first]);
  const [code, output] = await palaver([first], 'keys', 'rotate');
  expect([code, output]).toEqual([0, expect.stringMatching(/^ussd: [1-9]\d* rows encrypted.\nagent: [1-9]\d* rows/)]);
  expect(await encrypted.say('l', '2*2*4071')).toContain('Anazebra');
  await encrypted.close();
  expect(await search()).toEqual([]);

  const rotating = await start([second, first]);
  expect((await palaver([second, first], 'keys', 'rotate'))[0]).toBe(0);
  await rotating.close();
  expect(await palaver([first], 'user', 'export', phoneNumber)).toEqual([
    1,
    expect.stringContaining('DATA_ENCRYPTION_KEY is not the key of this database'),
  ]);
  expect((await palaver([first], 'doctor'))[1]).toContain('is not the key of this database');
  expect((await palaver([], 'doctor'))[1]).toContain('DATA_ENCRYPTION_KEY is not set');
  const exported = await palaver([second], 'user', 'export', phoneNumber);
  expect(exported[0]).toBe(0);
  for (const canary of canaries.slice(0, 3)) expect(exported[1]).toContain(canary);
  const rotated = await start([second]);
  expect(await rotated.say('m', '2*2*4071')).toContain('Anazebra');
  await rotated.close();
  expect(await search()).toEqual([]);
  const [, audited] = await palaver([second], 'audit', 'export');
  expect(audited.match(/"keys\.rotated"/g)).toHaveLength(4);
});
