import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir, startProcess } from '@palaver/test-kit';
import { startUssd } from '@palaver/ussd';
import { expect, test } from 'vitest';

const launcher = join(import.meta.dirname, '../bin/palaver.js');

test('operators are added, listed and revoked; tokens are shown once, kept as hashes, and good at once', async () => {
  await using dir = await createTempDir();
  const run = async (...args: string[]) => {
    const child = startProcess(process.execPath, [launcher, 'operator', ...args], { env: { DATA_DIR: dir.path } });
    return { code: await child.exited, output: child.output() };
  };
  const service = await startUssd({ PORT: '0', LOG_LEVEL: 'silent', DATA_DIR: dir.path });
  try {
    const added = await run('add', 'ann', '--role', 'viewer');
    expect(added.code).toBe(0);
    const token = /palaver_[\w-]{43}/.exec(added.output)?.[0] ?? '';
    const file = join(dir.path, 'operators.json');
    expect(readFileSync(file, 'utf8')).not.toContain(token);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const status = async (authorization: string) =>
      (await fetch(`${service.url}/api/ussd/sessions`, { headers: { authorization } })).status;
    expect(await status(`Bearer ${token}`)).toBe(200);
    expect(await status('Bearer another')).toBe(401);
    expect((await run('list')).output).toMatch(/ann +viewer/);
    expect((await run('list')).output).not.toContain(token);
    expect((await run('add', 'ann')).code).toBe(1);
    expect((await run('add', 'not a name')).code).toBe(1);
    expect((await run('add', 'ben', '--role', 'root')).code).toBe(1);
    expect((await run('revoke', 'ben')).output).toContain('There is no operator ben.');
    expect((await run('add', 'cai', '--role', 'admin')).code).toBe(0);
    expect((await run('revoke', 'ann')).code).toBe(0);
    expect(await status(`Bearer ${token}`)).toBe(401);
    const cai = (await run('add', 'dee', '--role', 'viewer')).output.match(/palaver_[\w-]{43}/)?.[0];
    const audit = await fetch(`${service.url}/api/ussd/audit`, { headers: { authorization: `Bearer ${cai}` } });
    const { lines } = (await audit.json()) as {
      lines: { actor: string; action: string; details: { name?: string } }[];
    };
    expect(
      lines.filter(({ actor }) => actor === 'command').map(({ action, details }) => `${action} ${details.name}`),
    ).toEqual(['operator.added dee', 'operator.revoked ann', 'operator.added cai', 'operator.added ann']);
    expect(JSON.stringify(lines)).not.toContain(token);

    // Without the last of them this machine does not become an admin again, also after a new start.
    await run('revoke', 'dee');
    expect((await run('revoke', 'cai')).output).toContain('not even on this machine');
    expect((await fetch(`${service.url}/api/ussd/sessions`)).status).toBe(401);
    const again = await startUssd({ PORT: '0', LOG_LEVEL: 'silent', DATA_DIR: dir.path });
    const answer = await fetch(`${again.url}/api/ussd/sessions`).finally(() => again.close());
    expect(answer.status).toBe(401);
  } finally {
    await service.close();
  }
});
