// How callers move through a program is counted by state and day, on every instance, and nothing of it says who they are.
import { addOperator } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { createTempDir, engines, searchDatabase, waitFor } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import type { StatsReport } from '../src/calls/read-stats.ts';
import type { UssdTables } from '../src/store/tables.ts';
import { startService, type TestService } from './service-fixture.ts';

const ana = { phoneNumber: '+254700000061' };
const ben = { phoneNumber: '+254700000062' };

async function load(service: TestService, query = ''): Promise<StatsReport> {
  return (await service.get(`/api/ussd/programs/palaver/stats${query}`)).json() as Promise<StatsReport>;
}

const find = ({ states }: StatsReport, name: string) => states.find(({ state }) => state === name);

describe.each(engines)('on %s', (engine) => {
  test('shown, answered, refused, back, exited and timed out are counted by state and kept over restarts', async () => {
    await using service = await startService(engine, { DATA_ENCRYPTION_KEY: 'ab'.repeat(32) });
    const other = await service.startAnother();
    const store = await openStore<UssdTables>(service.databaseUrl);
    const texts = ['', '1', '1*1', '1*1*0', '1*1*0*7'];
    for (const [i, text] of texts.entries()) await (i % 2 === 0 ? service : other).say('a1', text, ana);
    // A screen that was looked at for 40 seconds.
    await store.db
      .updateTable('ussd_session')
      .set({ seen_at: Date.now() - 40_000 })
      .where('id', '=', 'a1')
      .execute();
    const seen = { ...ana, sessionId: 'a1' };
    expect(await other.say('a1', '1*1*0*7*2', seen)).toMatch(/^CON /);
    expect(await service.say('a1', '1*1*0*7*2**', seen)).toMatch(/^END /);
    // Sent again by the telecom gateway: counted once.
    expect(await service.say('a1', '1*1*0*7*2**', seen)).toMatch(/^END /);
    for (const instance of [service, other]) await instance.say('a2', '', ana);
    const old = Date.now() - 600_000;
    await store.db.updateTable('ussd_session').set({ seen_at: old, opened_at: old }).where('id', '=', 'a2').execute();
    // A shortcut: the first request of a call has inputs already.
    await service.say('b1', '1*2', ben);
    await store.close();

    const zero = { shown: 0, answered: 0, refused: 0, back: 0, exited: 0, timedOut: 0 };
    const wanted = {
      preMenu: { ...zero, shown: 3, answered: 2, timedOut: 1 },
      about: { ...zero, shown: 3, answered: 3, refused: 1 },
      aboutWhat: { ...zero, shown: 1, back: 1 },
      aboutHow: { ...zero, shown: 2, exited: 1 },
      goodbye: { ...zero, shown: 1 },
    };
    await waitFor('the counts of both instances', async () => {
      const report = await load(service);
      return find(report, 'preMenu')?.timedOut === 1 && find(report, 'about')?.answered === 3;
    });
    const report = await load(service);
    for (const [state, counts] of Object.entries(wanted)) expect(find(report, state)).toMatchObject(counts);
    expect(report.states).toHaveLength(5);
    expect(find(report, 'about')?.medianSeconds).toBeGreaterThan(0);
    const today = new Date().toISOString().slice(0, 10);
    expect(report.days.reduce((sum, { calls }) => sum + calls, 0)).toBe(3);
    expect(report.versions).toMatchObject([
      { version: expect.stringMatching(/^palaver@/), calls: 3, returning: 1, texting: 0 },
    ]);
    expect(report.languages).toMatchObject([{ language: 'en', shown: 10 }]);
    const ofState = await load(service, '?state=about');
    expect(ofState.days.reduce((sum, { answered }) => sum + answered, 0)).toBe(3);
    expect((await load(service, `?from=2020-01-01&to=2020-01-31`)).states).toEqual([]);
    expect((await service.get(`/api/ussd/programs/palaver/stats?from=2020-01-01&to=${today}`)).status).toBe(400);
    const places = await searchDatabase(service.databaseUrl, ['254700000061', '254700000062']);
    expect(places.filter((place) => place.includes('_stat'))).toEqual([]);

    await service.close();
    await using later = await service.startAnother();
    expect(await load(later)).toEqual(report);
  });
});

test('viewers read counts, others do not', async () => {
  await using dir = await createTempDir();
  const file = `${dir.path}/operators.json`;
  const token = addOperator(file, { name: 'ann', role: 'viewer' });
  await using service = await startService('sqlite', { OPERATORS_FILE: file });
  const path = '/api/ussd/programs/palaver/stats';
  expect((await service.get(path)).status).toBe(401);
  expect((await service.get(path, { authorization: `Bearer ${token}` })).status).toBe(200);
});
