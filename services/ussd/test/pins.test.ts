import { openStore } from '@palaver/store';
import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import type { AccountTable, UssdTables } from '../src/store/tables.ts';
import { phoneNumber, register, startService, type TestService } from './service-fixture.ts';
import { everythingElse, writeProgram } from './write-program.ts';

async function changeAccount(service: TestService, change: Partial<AccountTable>): Promise<void> {
  const store = await openStore<UssdTables>(service.databaseUrl);
  await store.db.updateTable('ussd_account').set(change).execute();
  await store.close();
}

const unlock = (service: TestService, number: string) =>
  fetch(`${service.url}/api/ussd/accounts/${encodeURIComponent(number)}/unlock`, { method: 'POST' });

const lockedForGood = 'This account is locked. Please come to the office.';

describe.each(engines)('PINs on %s', (engine) => {
  test('after 100 wrong in all the account stays locked until an operator unlocks it', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    expect(await service.say('a', '2*2*9990')).toContain('Tries left - 2');
    // A right PIN forgives those in a row, not those in all.
    expect(await service.say('b', '2*2*4071')).toContain('Welcome back');
    await changeAccount(service, { failed_total: 99 });
    expect(await service.say('c', '2*2*9990')).toContain(lockedForGood);
    expect(await service.say('d', '2*2*4071')).toContain(lockedForGood);
    await changeAccount(service, { locked_until: null });
    expect(await service.say('e', '3*1*5*4071')).toContain(lockedForGood);

    expect((await unlock(service, '+254700000099')).status).toBe(404);
    expect((await unlock(service, 'nobody')).status).toBe(400);
    const unlocked = await unlock(service, phoneNumber);
    expect([unlocked.status, await unlocked.json()]).toEqual([200, { phoneNumber, unlocked: true }]);
    expect(await service.say('f', '')).toMatch(/^CON The office unlocked your account on \d{4}-\d\d-\d\d\.\nWelcome/);
    expect(await service.say('g', '2*2*4071')).toContain('Welcome back');
    const audit = await (await service.get('/api/ussd/audit')).text();
    expect(audit).toContain('"account.unlocked"');
    expect(audit).not.toContain(phoneNumber);
  });

  test('a changed PIN is announced at the next dial, once, and starts a new count', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    await changeAccount(service, { failed_total: 50 });
    expect(await service.say('a', '2*2*4071*3*4071*8305*8305')).toContain('Your PIN has been changed.');
    const other = await service.say('b', '', { phoneNumber: '+254700000002' });
    expect(other).toMatch(/^CON Welcome to Palaver\n/);
    const second = await service.startAnother();
    const dialled = await second.say('c', '');
    expect(dialled).toMatch(/^CON Your PIN was changed on \d{4}-\d\d-\d\d\. Not you\? Tell the office\.\nWelcome/);
    expect(Array.from(dialled.slice(4)).length).toBeLessThanOrEqual(182);
    expect(await second.say('c', '1')).toMatch(/^CON About Palaver/);
    expect(await service.say('d', '')).toMatch(/^CON Welcome to Palaver\n/);
    const store = await openStore<UssdTables>(service.databaseUrl);
    const accounts = await store.db.selectFrom('ussd_account').select('failed_total').execute();
    await store.close();
    expect(accounts).toEqual([{ failed_total: 0 }]);
  });

  test('a notice stays until its reader has pressed a key, whatever program is dialled before', async () => {
    await using dir = await writeProgram({
      'plain/program.yaml': `name: plain
codes: ["*384*3#"]
languages: [en]
start: home
exit: bye
states:
  home: { kind: menu, text: home, options: [{ key: 1, text: home, to: home }] }
  bye: { kind: end, text: home }
`,
      'everything/program.yaml': everythingElse,
      'plain/locales/en.yaml':
        'home: Home\ncommon: { more: More, back: Back, exit: Exit }\nhint: { empty: Empty, choice: Choice }\nmain: { expired: Expired }\n',
    });
    const env = { USSD_PROGRAMS: dir.path };
    await using service = await startService(engine, env);
    await register(service, 'r');
    expect(await service.say('a', '2*2*4071*3*4071*8305*8305')).toContain('Your PIN has been changed.');
    const plain = { serviceCode: '*384*3#' };
    expect(await service.say('p', '', plain)).toMatch(/^CON Home/);
    await service.say('p', '1', plain);
    const notice = /^CON Your PIN was changed on/;
    // The reply to a dial may be lost: the telecom gateway or the caller dials again.
    for (const id of ['b', 'b', 'c']) expect(await service.say(id, '')).toMatch(notice);
    await using other = await service.startAnother();
    expect(await other.say('b', '')).toMatch(notice);
    // A shortcut goes past the first screen.
    expect(await service.say('d', '1')).toMatch(/^CON About/);
    expect(await service.say('c', '9')).toMatch(/^CON Not a choice/);
    expect(await service.say('e', '')).toMatch(/^CON Welcome to Palaver\n/);
  });

  test('a milder notice does not hide a serious one, and each is shown', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    const account = (action: string) =>
      fetch(`${service.url}/api/ussd/accounts/${encodeURIComponent(phoneNumber)}/${action}`, { method: 'POST' });
    for (let attempt = 1; attempt <= 3; attempt += 1) await service.say(`w${attempt}`, '2*2*9999');
    expect((await account('reset-pin')).status).toBe(200);
    for (let attempt = 4; attempt <= 6; attempt += 1) await service.say(`w${attempt}`, '2*2*9999');
    expect((await account('unlock')).status).toBe(200);
    expect(await service.say('a', '')).toMatch(/^CON Your PIN was changed on/);
    await service.say('a', '9');
    expect(await service.say('b', '')).toMatch(/^CON The office unlocked your account/);
    await service.say('b', '9');
    expect(await service.say('c', '')).toMatch(/^CON Welcome to Palaver\n/);
    // Nothing was locked.
    expect((await account('unlock')).status).toBe(200);
    expect(await service.say('d', '')).toMatch(/^CON Welcome to Palaver\n/);
  });

  test('the PINs that are guessed first are refused', async () => {
    await using service = await startService(engine);
    for (const pin of ['1985', '2580', '7777', '3456', '9876', '0000', '0001', '25470', '147258']) {
      expect(await service.say(`p${pin}`, `2*1*Ana*${pin}`)).toMatch(/^CON Too easy to guess/);
    }
  });
});
