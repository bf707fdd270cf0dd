import { join } from 'node:path';
import { startAgent } from '@palaver/agent-service';
import { createTempDir, searchDatabase, startProcess } from '@palaver/test-kit';
import { startUssd } from '@palaver/ussd';
import { expect, test } from 'vitest';

const launcher = join(import.meta.dirname, '../bin/palaver.js');
const phoneNumber = '+254700000091';

test('a phone number is exported and erased in all services', async () => {
  await using dir = await createTempDir();
  const base = { PORT: '0', DATA_DIR: dir.path, LOG_LEVEL: 'silent', USSD_WATCH_MENUS: 'false' };
  const agent = await startAgent(base);
  const ussd = await startUssd({ ...base, AGENT_URL: agent.url });
  const say = async (sessionId: string, text: string) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ sessionId, serviceCode: '*1234#', phoneNumber, text });
    return (await fetch(`${ussd.url}/api/ussd`, { method: 'POST', headers, body })).text();
  };
  await say('q', '4*remember that my dog is called Zebedee');
  await say('r', '2*1*Anazebra*4071*4071');
  await ussd.close();
  await agent.close();

  const files = ['ussd', 'agent'].map((name) => `file:${join(dir.path, `${name}.sqlite`)}`);
  const search = async () =>
    (await Promise.all(files.map((file) => searchDatabase(file, [phoneNumber, 'Anazebra', 'Zebedee'])))).map(
      (places) => places.length > 0,
    );
  const user = async (...args: string[]) => {
    const child = startProcess(process.execPath, [launcher, 'user', ...args], {
      cwd: dir.path,
      env: { DATA_DIR: dir.path },
    });
    return [await child.exited, child.output()] as const;
  };
  expect(await search()).toEqual([true, true]);
  const [code, output] = await user('export', phoneNumber);
  expect(code).toBe(0);
  expect(output).toContain('Anazebra');
  expect(output).toContain('Zebedee');
  expect((await user('erase', phoneNumber))[0]).toBe(1);
  expect(await search()).toEqual([true, true]);
  expect(await user('erase', phoneNumber, '--yes')).toEqual([0, 'Erased.\n']);
  expect(await search()).toEqual([false, false]);
  expect((await user('erase', 'nobody', '--yes'))[0]).toBe(1);
});
