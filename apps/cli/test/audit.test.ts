import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createTempDir, startProcess } from '@palaver/test-kit';
import { startUssd } from '@palaver/ussd';
import { expect, test } from 'vitest';

const launcher = join(import.meta.dirname, '../bin/palaver.js');

async function audit(dataDir: string, ...args: string[]): Promise<{ code: number | string; output: string }> {
  const child = startProcess(process.execPath, [launcher, 'audit', ...args], {
    cwd: dataDir,
    env: { DATA_DIR: dataDir },
  });
  return { code: await child.exited, output: child.output() };
}

test('the log of a service verifies, is exported, and shows what was done to its file', async () => {
  await using dir = await createTempDir();
  expect(await audit(dir.path, 'verify')).toMatchObject({ code: 1, output: expect.stringContaining('no database') });
  const env = { PORT: '0', DATA_DIR: dir.path, LOG_LEVEL: 'silent', USSD_WATCH_MENUS: 'false' };
  const service = await startUssd(env);
  for (const path of ['sessions', 'reports', 'audit']) await fetch(`${service.url}/api/ussd/${path}`);
  await service.close();

  const sound = await audit(dir.path, 'verify');
  expect(sound).toEqual({
    code: 0,
    output: expect.stringMatching(
      /^ussd: 3 lines checked, against 1 heads kept elsewhere; no faults; head 3:[0-9a-f]{64}\n$/,
    ),
  });
  const exported = (await audit(dir.path, 'export')).output.trim().split('\n');
  expect(exported.map((line) => JSON.parse(line).details.route)).toEqual([
    '/api/ussd/sessions',
    '/api/ussd/reports',
    '/api/ussd/audit',
  ]);
  expect((await audit(dir.path, 'export', '--csv')).output).toContain('operator:loopback');

  const file = new DatabaseSync(join(dir.path, 'ussd.sqlite'));
  file.exec(`drop trigger palaver_audit_delete; delete from palaver_audit where seq = 3;
    update palaver_audit_state set head_seq = 2, head_hash = (select hash from palaver_audit where seq = 2)`);
  file.close();
  const cut = await audit(dir.path, 'verify');
  expect(cut).toMatchObject({
    code: 1,
    output: expect.stringContaining('line 2: the chain ends here, but its head was at 3'),
  });
});
