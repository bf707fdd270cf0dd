import { openStore } from '@palaver/store';
import { createTempDir, createTestDatabase, searchDatabase } from '@palaver/test-kit';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { withPersonData } from '../src/commands/person-data.ts';
import { phoneNumber, register, startService, testKey } from './service-fixture.ts';

const sinceLong = { USSD_DAILY_FROM: '2020-01-01' };

async function countRows(databaseUrl: string): Promise<Record<string, number>> {
  const store = await openStore<never>(databaseUrl);
  const tables = ['ussd_session', 'ussd_session_day', 'ussd_effect', 'ussd_effect_day', 'ussd_report'];
  const counts = tables.map(async (table) => {
    const { rows } = await sql<{ count: string }>`select count(*) as count from ${sql.table(table)}`.execute(store.db);
    return [table, Number(rows[0]?.count)];
  });
  return Object.fromEntries(await Promise.all(counts).finally(() => store.close()));
}

test('sessions and results by the day: dialogues, retries, other instances, export and erasure', async () => {
  await using service = await startService('postgres', sinceLong);
  await register(service, 's1');
  const filed = await service.say('s2', '3*1*25*4071');
  expect(filed).toMatch(/Reference: \w{9}/);
  expect(await service.say('s2', '3*1*25*4071')).toBe(filed);
  const other = await service.startAnother();
  expect(await other.say('s2', '3*1*25*4071')).toBe(filed);
  expect(await service.say('s3', '')).toMatch(/^CON /);
  expect(await other.say('s3', '1')).toMatch(/^CON /);
  expect(await other.say('s3', '1', { phoneNumber: '+254700000002' })).toMatch(/^END /);
  const counts = await countRows(service.databaseUrl);
  expect(counts).toMatchObject({ ussd_session: 0, ussd_session_day: 3, ussd_effect: 0, ussd_report: 1 });
  expect(counts.ussd_effect_day).toBeGreaterThan(1);
  expect(await (await service.get('/api/ussd/sessions')).json()).toMatchObject({ activeSessions: ['s1', 's2', 's3'] });

  const path = `/api/ussd/users/${encodeURIComponent(phoneNumber)}`;
  const exported = (await (await service.get(`${path}/export`)).json()) as {
    ussd: { data: Record<string, unknown[]> };
  };
  expect(exported.ussd.data.ussd_session_day).toHaveLength(3);
  expect((await fetch(service.url + path, { method: 'DELETE' })).status).toBe(200);
  expect(await countRows(service.databaseUrl)).toMatchObject({ ussd_session_day: 0, ussd_effect_day: 0 });
});

test('what began before the first day continues after it, and no side effect is repeated', async () => {
  await using service = await startService('postgres', { USSD_DAILY_FROM: '2999-01-01' });
  await register(service, 's1');
  const filed = await service.say('s2', '3*1*25*4071');
  await service.say('s3', '');
  const counts = await countRows(service.databaseUrl);
  expect(counts).toMatchObject({ ussd_session: 3, ussd_session_day: 0, ussd_effect_day: 0, ussd_report: 1 });
  const later = await service.startAnother(sinceLong);
  expect(await later.say('s2', '3*1*25*4071')).toBe(filed);
  expect(await later.say('s3', '1')).toMatch(/^CON /);
  await later.say('s4', '');
  expect(await service.say('s4', '1')).toMatch(/^CON /);
  expect(await countRows(service.databaseUrl)).toEqual({ ...counts, ussd_session_day: 1 });
});

test('rows by the day are encrypted, found by their number and rotated', async () => {
  const [first, second] = ['ab'.repeat(32), 'cd'.repeat(32)];
  await using dataDir = await createTempDir();
  await using service = await startService('postgres', sinceLong);
  await register(service, 's1');
  const filed = await service.say('s2', '3*1*25*4071');
  const rotate = (keys: string) =>
    withPersonData(
      {
        DATA_DIR: dataDir.path,
        DATABASE_URL: service.databaseUrl,
        DATA_ENCRYPTION_KEY: keys,
        PIN_ENCRYPTION_KEY: testKey,
      },
      (data) => data.encrypt({ actor: 'command', from: null }),
    );
  await using encrypted = await service.startAnother({ DATA_ENCRYPTION_KEY: first });
  expect(await encrypted.say('s2', '3*1*25*4071')).toBe(filed);
  expect(await encrypted.say('s3', '1')).toMatch(/^CON /);
  expect(await rotate(first)).toBeGreaterThan(3);
  expect(await searchDatabase(service.databaseUrl, [phoneNumber])).toEqual([]);
  expect(await rotate(`${second},${first}`)).toBeGreaterThan(3);
  await using rotated = await service.startAnother({ DATA_ENCRYPTION_KEY: second });
  expect(await rotated.say('s2', '3*1*25*4071')).toBe(filed);
  expect(await rotated.say('s3', '1*0', { phoneNumber: '+254700000002' })).toMatch(/^END /);
  expect(await rotated.say('s3', '1*0')).toMatch(/^CON /);
  expect(await countRows(service.databaseUrl)).toMatchObject({ ussd_session_day: 3, ussd_report: 1 });
});

test('a start without the variable on a database that has partitions is refused, and so is one on SQLite', async () => {
  await using database = await createTestDatabase('postgres');
  const first = await startService('postgres', { ...sinceLong, DATABASE_URL: database.url });
  await first[Symbol.asyncDispose]();
  await expect(startService('postgres', { DATABASE_URL: database.url })).rejects.toThrow('USSD_DAILY_FROM is not set');
  await expect(startService('sqlite', sinceLong)).rejects.toThrow('USSD_DAILY_FROM needs PostgreSQL');
});
