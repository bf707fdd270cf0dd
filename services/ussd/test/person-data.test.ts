import { createHash } from 'node:crypto';
import { engines, listTables, searchDatabase } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { createPersonalData } from '../src/store/personal-data.ts';
import { createTextHash } from '../src/store/text-hash.ts';
import { startService, type TestService } from './service-fixture.ts';

const ana = '+254700000091';
const ben = '+254700000092';

/** Leaves something of the caller in the tables. */
async function leaveTraces(service: TestService, phoneNumber: string, name: string): Promise<void> {
  const own = { phoneNumber };
  await service.say(`r${name}`, `2*1*${name}*4071*4071`, own);
  await service.say(`p${name}`, '3*1*5*4071', own);
  await service.say(`l${name}`, '2*2*4071', own);
  await service.say(`o${name}`, '3*1', own);
}

describe.each(engines)("a person's data on %s", (engine) => {
  test('is exported whole, and erased so that nothing of it is found in the database', async () => {
    await using service = await startService(engine);
    await leaveTraces(service, ana, 'Anazebra');
    await leaveTraces(service, ben, 'Benzebra');
    const before = await searchDatabase(service.databaseUrl, [ana, 'Anazebra']);
    for (const table of ['ussd_account', 'ussd_record', 'ussd_session', 'ussd_action_result']) {
      expect(before.filter((place) => place.startsWith(`${table}.`))).not.toEqual([]);
    }
    const path = `/api/ussd/users/${encodeURIComponent(ana)}`;
    const { ussd, agent } = (await (await service.get(`${path}/export`)).json()) as {
      ussd: { data: Record<string, unknown[]> };
      agent: unknown;
    };
    expect(agent).toBeNull();
    for (const place of before) expect(ussd.data[place.split('.')[0] ?? '']).not.toEqual([]);
    expect(JSON.stringify(ussd)).not.toMatch(/Benzebra|"pin"|"sealed"|text_hash/);

    const erased = await fetch(`${service.url}${path}`, { method: 'DELETE' });
    expect([erased.status, await erased.json()]).toEqual([200, { ok: true }]);
    expect(await searchDatabase(service.databaseUrl, [ana, 'Anazebra'])).toEqual([]);
    expect(await searchDatabase(service.databaseUrl, [ben, 'Benzebra'])).toEqual(before);
    const audit = await (await service.get(`/api/ussd/audit?subject=${encodeURIComponent(ana)}`)).text();
    expect(audit).toMatch(/data\.erased/);
    expect((await service.get(`${path}/export`, { via: 'x' })).status).toBe(401);
    expect((await fetch(`${service.url}/api/ussd/users/nobody`, { method: 'DELETE' })).status).toBe(400);
  });

  test('that was erased is not written again by a call that was open', async () => {
    await using service = await startService(engine);
    const other = await service.startAnother();
    const own = { phoneNumber: ana };
    const erase = async () => {
      const path = `${service.url}/api/ussd/users/${encodeURIComponent(ana)}`;
      expect((await fetch(path, { method: 'DELETE' })).status).toBe(200);
    };
    for (const [instance, id] of [
      [service, 'here'],
      [other, 'there'],
    ] as const) {
      await instance.say(id, '', own);
      await instance.say(id, '2*1*Anazebra*4071', own);
      await instance.say(`${id}-form`, '3*1', own);
      await instance.say(`${id}-over`, '**', own);
    }
    await erase();
    for (const instance of [service, other]) {
      for (const id of ['here', 'there'])
        for (const text of ['2*1*Anazebra*4071', '2*1*Anazebra*4071*4071', '2*1*Anazebra*4071*0'])
          expect(await instance.say(id, text, own)).toMatch(/^END /);
      for (const id of ['here-form', 'there-form']) expect(await instance.say(id, '3*1*5', own)).toMatch(/^END /);
      expect(await instance.say('here-over', '1', own)).toMatch(/^END /);
    }
    expect(await searchDatabase(service.databaseUrl, [ana, 'Anazebra'])).toEqual([]);
    expect(await (await service.get('/api/ussd/callers')).json()).toEqual({ callers: [] });
    expect(await (await service.get('/api/ussd/sessions')).json()).toMatchObject({ count: 0 });
    // A new call, also one with an id that was used before, begins again at the first screen.
    expect(await service.say('here', '', own)).toMatch(/^CON /);
    expect(await other.say('here', '1', own)).toMatch(/^CON /);
    expect(await service.say('new', '', own)).toMatch(/^CON /);
    // What it does is kept again.
    expect(await service.say('here', '2*1*Anazebra*4071*4071', own)).toMatch(/^CON .*Anazebra/s);
    await erase();
    expect(await searchDatabase(service.databaseUrl, [ana, 'Anazebra'])).toEqual([]);
  });

  test('that was erased is not found by a guess at the number, which a telecom gateway may put into its ids', async () => {
    await using service = await startService(engine);
    const own = { phoneNumber: ana };
    await service.say(`${ana}-1`, '1', own);
    expect((await fetch(`${service.url}/api/ussd/users/${encodeURIComponent(ana)}`, { method: 'DELETE' })).status).toBe(
      200,
    );
    for (const algorithm of ['sha256', 'sha512', 'sha1', 'md5'])
      for (const encoding of ['hex', 'base64url'] as const) {
        const hash = createHash(algorithm).update(`${ana}-1`).digest(encoding);
        expect(await searchDatabase(service.databaseUrl, [hash.slice(0, 16)])).toEqual([]);
      }
    // It is known: a key press does not begin it again.
    expect(await service.say(`${ana}-1`, '1*1', own)).toMatch(/^END /);
  });

  test('that is erased while key presses are under way is gone when they are answered', async () => {
    await using service = await startService(engine, { USSD_REPEAT_MINUTES: '0' });
    const own = { phoneNumber: ana };
    const ids = Array.from({ length: 20 }, (_, i) => `s${i}`);
    await Promise.all(ids.map((id) => service.say(id, '2*1*Anazebra*4071', own)));
    const pressed = ids.map((id) => service.say(id, '2*1*Anazebra*4071*4071', own));
    const path = `${service.url}/api/ussd/users/${encodeURIComponent(ana)}`;
    await Promise.race(pressed);
    expect((await fetch(path, { method: 'DELETE' })).status).toBe(200);
    await Promise.all(pressed);
    expect(await searchDatabase(service.databaseUrl, [ana, 'Anazebra'])).toEqual([]);
  });

  test('an agent that is unreachable leaves everything unchanged', async () => {
    await using service = await startService(engine, { AGENT_URL: 'http://127.0.0.1:1' });
    await leaveTraces(service, ana, 'Anazebra');
    const before = await searchDatabase(service.databaseUrl, [ana]);
    const path = `${service.url}/api/ussd/users/${encodeURIComponent(ana)}`;
    expect((await fetch(path, { method: 'DELETE' })).status).toBe(503);
    expect(await searchDatabase(service.databaseUrl, [ana])).toEqual(before);
  });

  test('every table is claimed, or known to hold nothing of persons', async () => {
    await using service = await startService(engine);
    const names = await listTables(service.databaseUrl);
    // What waits for a code in `ussd_link` belongs to no phone number and is gone after ten minutes. The books name accounts by
    // random ids, which lead to nobody once the account is erased.
    const impersonal =
      /^(ussd_secret|ussd_link|ussd_money_account|ussd_money_entry|ussd_program|ussd_program_version|ussd_state_stat|ussd_call_stat|ussd_tx|ussd_tx_lease|palaver_.*)$/;
    const { tables } = createPersonalData(createTextHash(Buffer.alloc(32)));
    expect(names.filter((name) => !tables.includes(name) && !impersonal.test(name))).toEqual([]);
  });
});
