import { spawnSync } from 'node:child_process';
import { appendFileSync, chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createTempDir, createTestDatabase, startProcess } from '@palaver/test-kit';
import { startUssd } from '@palaver/ussd';
import { expect, test } from 'vitest';

const launcher = join(import.meta.dirname, '../bin/palaver.js');

async function palaver(dataDir: string, ...args: string[]): Promise<[number | string, string]> {
  const child = startProcess(process.execPath, [launcher, ...args], { cwd: dataDir, env: { DATA_DIR: dataDir } });
  return [await child.exited, child.output()];
}

async function start(env: Record<string, string>) {
  const service = await startUssd({
    PORT: '0',
    LOG_LEVEL: 'silent',
    USSD_WATCH_MENUS: 'false',
    RATE_LIMIT_PER_MINUTE: '100000',
    ...env,
  });
  const say = async (sessionId: string, text: string, phoneNumber: string) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ sessionId, serviceCode: '*1234#', phoneNumber, text });
    return (await fetch(`${service.url}/api/ussd`, { method: 'POST', headers, body })).text();
  };
  return { ...service, say };
}

test('an encrypted backup taken under load restores every account that was confirmed before it, PINs included', async () => {
  await using source = await createTempDir();
  await using target = await createTempDir();
  const folder = join(target.path, 'backup');
  const key = { DATA_ENCRYPTION_KEY: 'ab'.repeat(32) };
  const service = await start({ DATA_DIR: source.path, ...key });
  const phone = (index: number) => `+2547000${String(index).padStart(5, '0')}`;
  for (let index = 0; index < 5; index++) await service.say(`r${index}`, '2*1*Anazebra*4071*4071', phone(index));
  let isLoading = true;
  const load = (async () => {
    for (let index = 100; isLoading; index++) await service.say(`l${index}`, '', phone(index));
  })();
  expect(await palaver(source.path, 'backup', folder)).toEqual([0, expect.stringContaining('ussd.sqlite')]);
  isLoading = false;
  await load;
  await service.close();
  for (const name of readdirSync(folder))
    expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(readFileSync(join(folder, 'ussd.sqlite'), 'latin1')).not.toMatch(/Anazebra|254700000/);
  expect((await palaver(source.path, 'backup', folder))[0]).toBe(1);
  expect(await palaver(source.path, 'restore', folder)).toEqual([1, expect.stringContaining('already holds')]);

  const fresh = join(target.path, 'fresh');
  // The folder was there, and the backup came over a file system without modes.
  chmodSync(target.path, 0o755);
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644);
  expect((await palaver(target.path, 'restore', folder))[0]).toBe(0);
  expect(statSync(target.path).mode & 0o777).toBe(0o700);
  for (const name of ['ussd.sqlite', 'pin-encryption.key'])
    expect([name, statSync(join(target.path, name)).mode & 0o777]).toEqual([name, 0o600]);
  await expect(start({ DATA_DIR: target.path })).rejects.toThrow('DATA_ENCRYPTION_KEY is not set');
  const restored = await start({ DATA_DIR: target.path, ...key });
  for (let index = 0; index < 5; index++) {
    expect(await restored.say(`in${index}`, '2*2*4071', phone(index))).toContain('Anazebra');
  }
  await restored.close();
  appendFileSync(join(folder, 'ussd.sqlite'), 'x');
  const damaged = startProcess(process.execPath, [launcher, 'restore', folder], { env: { DATA_DIR: fresh } });
  expect([await damaged.exited, damaged.output()]).toEqual([
    1,
    expect.stringContaining('damaged; nothing was restored'),
  ]);
});

test('a database on PostgreSQL is restored from pg_dump', async ({ skip }) => {
  await using database = await createTestDatabase('postgres');
  await using empty = await createTestDatabase('postgres');
  await using dir = await createTempDir();
  const dump = join(dir.path, 'palaver.dump');
  const env = { DATA_DIR: dir.path, DATABASE_URL: database.url };
  const service = await start(env);
  await service.say('r', '2*1*Ana*4071*4071', '+254700000001');
  await service.close();
  const run = (command: string, args: string[]) => spawnSync(command, args, { encoding: 'utf8' });
  const dumped = run('pg_dump', ['--format=custom', `--file=${dump}`, database.url]);
  if (dumped.error) return skip('pg_dump is not on the PATH');
  if (dumped.stderr.includes('server version mismatch'))
    return skip('pg_dump is older than the PostgreSQL of the tests');
  expect(dumped.stderr).toBe('');
  expect(run('pg_restore', ['--exit-on-error', `--dbname=${empty.url}`, dump]).stderr).toBe('');
  const restored = await start({ ...env, DATABASE_URL: empty.url });
  expect(await restored.say('in', '2*2*4071', '+254700000001')).toContain('Ana');
  await restored.close();
  const verified = startProcess(process.execPath, [launcher, 'audit', 'verify'], {
    env: { ...env, DATABASE_URL: empty.url },
  });
  expect([await verified.exited, verified.output()]).toEqual([0, expect.stringContaining('no faults')]);
});
