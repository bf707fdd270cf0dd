import { openStore } from '@palaver/store';
import { engines, waitFor } from '@palaver/test-kit';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSessionCache } from '../src/calls/session.ts';
import { sweep } from '../src/calls/sweeper.ts';
import type { UssdTables } from '../src/store/tables.ts';
import { phoneNumber, register, registration, startService, type TestService } from './service-fixture.ts';

const mainMenu = /^CON Welcome to Palaver\n1\. /;
const aboutMenu = /^CON About Palaver\n1\. /;
const other = '+254700000002';

async function countReports(service: TestService): Promise<number> {
  const body = (await (await service.get('/api/ussd/reports')).json()) as { total: number };
  return body.total;
}

async function withTables<T>(
  service: TestService,
  look: (db: Awaited<ReturnType<typeof openStore<UssdTables>>>['db']) => Promise<T>,
): Promise<T> {
  const store = await openStore<UssdTables>(service.databaseUrl);
  return look(store.db).finally(() => store.close());
}

describe.each(engines)('sessions on %s', (engine) => {
  test('the new input is what follows the part already consumed', async () => {
    await using service = await startService(engine);
    expect(await service.say('s', '')).toMatch(mainMenu);
    expect(await service.say('s', '1')).toMatch(aboutMenu);
    expect(await service.say('s', '1*1')).toContain('Palaver lets you report');
    expect(await service.say('s', '1*1*0')).toMatch(aboutMenu);
  });

  test('several new parts at once are applied in order, as a shortcut of the first dial too', async () => {
    await using service = await startService(engine);
    expect(await service.say('a', '1*1')).toContain('Palaver lets you report');
    await service.say('b', '');
    expect(await service.say('b', '1*3*0*0*2')).toContain('My account');
  });

  test('1** leaves, from a question too; a single trailing star asks again with a hint', async () => {
    await using service = await startService(engine);
    await service.say('s', '');
    expect(await service.say('s', '2*1*')).toBe('CON Please type an answer.\nWhat is your name?\n0. Back\n*. Exit');
    expect(await service.say('s', '2*1**')).toBe('END Thank you for using Palaver. Goodbye.');
    expect(await service.say('t', '*')).toMatch(/^END /);
    await service.say('u', '1*');
    expect(await service.say('u', '1**3')).toContain('Your PIN is stored encrypted');
  });

  test('a text that does not extend what was consumed is replayed from the start', async () => {
    await using service = await startService(engine);
    await service.say('s', '');
    await service.say('s', '1*1');
    expect(await service.say('s', '2')).toContain('My account');
    expect(await service.say('s', '12')).toContain('Not a choice');
    expect(await service.say('s', '1')).toMatch(aboutMenu);
  });

  test('a hundred requests of one session at once, all a telecom gateway may send in a minute, are all answered', async () => {
    await using service = await startService(engine);
    const replies = await Promise.all(Array.from({ length: 100 }, () => service.say('s', '1')));
    expect(new Set(replies).size).toBe(1);
    expect(replies[0]).toMatch(aboutMenu);
  });

  test('the same text again gets the same reply and repeats no effect', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    const filed = await service.say('s', '3*1*12*4071');
    expect(filed).toMatch(/Reference: [2-9A-Z]{9}/);
    expect(await service.say('s', '3*1*12*4071')).toBe(filed);
    // Late: the session has gone on since, and the text is replayed, but the report is not filed again.
    await service.say('s', '3*1*12*4071*0');
    expect(await service.say('s', '3*1*12*4071')).toBe(filed);
    const end = await service.say('s', '3*1*12*4071**');
    expect(await service.say('s', '3*1*12*4071**')).toBe(end);
    expect(await countReports(service)).toBe(1);
  });

  test('retries that arrive together file one report', async () => {
    await using service = await startService(engine);
    const second = await service.startAnother();
    await register(service, 'r');
    const replies = await Promise.all(
      Array.from({ length: 6 }, (_, i) => (i % 2 ? second : service).say('s', '3*1*12*4071')),
    );
    expect(new Set(replies).size).toBe(1);
    expect(replies[0]).toContain('Reference: ');
    expect(await countReports(service)).toBe(1);
  });

  test('an empty text always opens the main menu, a known id included', async () => {
    await using service = await startService(engine);
    await service.say('s', '1*1');
    expect(await service.say('s', '')).toMatch(mainMenu);
    await service.say('s', '*');
    expect(await service.say('s', '')).toMatch(mainMenu);
    expect(await service.say('s', '1')).toMatch(aboutMenu);
  });

  test('an instance that does not have the session continues it, without sticky sessions', async () => {
    await using service = await startService(engine);
    const second = await service.startAnother();
    await service.say('s', '');
    expect(await second.say('s', '2')).toContain('My account');
    expect(await service.say('s', '2*1')).toContain('What is your name?');
    expect(await second.say('s', '2*1*Ana')).toContain('Choose a PIN');
    expect(await service.say('s', '2*1*Ana*4071')).toContain('again');
    expect(await second.say('s', '2*1*Ana*4071*4071')).toContain('Welcome, Ana!');
    expect(await service.say('s', '2*1*Ana*4071*4071*2')).toContain('no reports yet');
  });

  test('a session kept alive by another instance has not expired here', async () => {
    await using service = await startService(engine, { SESSION_TIMEOUT_SECONDS: '8' });
    const second = await service.startAnother();
    await service.say('s', '');
    for (let i = 1; i <= 3; i++) {
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      await second.say('s', Array(i).fill('9').join('*'));
    }
    expect(await service.say('s', '9*9*9*1')).toMatch(aboutMenu);
  });

  test('lost state is rebuilt from the text; an account is not created twice', async () => {
    await using service = await startService(engine);
    await register(service, 's');
    await withTables(service, (db) => db.deleteFrom('ussd_session').execute());
    const second = await service.startAnother();
    expect(await second.say('s', `${registration}*2`)).toContain('no reports yet');
    const accounts = await withTables(service, (db) => db.selectFrom('ussd_account').select('name').execute());
    expect(accounts).toEqual([{ name: 'Ana' }]);
  });

  test('a session known to have expired is not rebuilt, and the debug lookup finds nothing', async () => {
    await using service = await startService(engine, { SESSION_TIMEOUT_SECONDS: '5' });
    await service.say('s', '1');
    expect((await service.get('/api/ussd/debug/s')).status).toBe(200);
    await waitFor('the session to expire', async () => (await service.get('/api/ussd/debug/s')).status === 404);
    expect(await service.say('s', '1*1')).toBe('END Your session has expired. Please dial again.');
    const second = await service.startAnother();
    expect(await second.say('s', '1*1')).toBe('END Your session has expired. Please dial again.');
    expect(await service.say('s', '')).toMatch(mainMenu);
    expect(await service.say('s', '1')).toMatch(aboutMenu);
  });

  test('an expired session says so in its last language', async () => {
    await using service = await startService(engine, { SESSION_TIMEOUT_SECONDS: '1' });
    expect(await service.say('s', '2*3*2')).toContain('Mon compte');
    await waitFor('the session to expire', async () => (await service.get('/api/ussd/debug/s')).status === 404);
    expect(await service.say('s', '2*3*2*1')).toMatch(/^END Votre session a expiré/);
  });

  test('a session belongs to the phone number that opened it: open, ended, expired and after a restart', async () => {
    await using service = await startService(engine, { SESSION_TIMEOUT_SECONDS: '4' });
    const invalid = 'END Invalid input. Please try again.';
    await service.say('open', '');
    await service.say('ended', '*');
    await service.say('expired', '');
    await waitFor('expiry', async () => (await service.get('/api/ussd/debug/expired')).status === 404);
    const second = await service.startAnother();
    for (const id of ['expired', 'ended', 'open']) {
      if (id === 'open') await service.say('open', '');
      for (const instance of [service, second]) {
        for (const text of ['', '1']) expect(await instance.say(id, text, { phoneNumber: other })).toBe(invalid);
      }
    }
    expect(await service.say('open', '1')).toMatch(aboutMenu);
  });

  test('END removes the session from the active list at once', async () => {
    await using service = await startService(engine);
    await service.say('a', '');
    await service.say('b', '1');
    const list = async () => (await service.get('/api/ussd/sessions')).json();
    expect(await list()).toEqual({ activeSessions: ['a', 'b'], count: 2 });
    await service.say('b', '1**');
    expect(await list()).toEqual({ activeSessions: ['a'], count: 1 });
  });

  test('two requests of one session are handled one after the other', async () => {
    await using service = await startService(engine);
    await service.say('s', '');
    const [first, second] = await Promise.all([service.say('s', '1'), service.say('s', '1*1')]);
    expect(first).toMatch(aboutMenu);
    expect(second).toContain('Palaver lets you report');
  });

  test('neither the text nor a PIN is kept anywhere', async () => {
    await using service = await startService(engine);
    await service.say('s', '');
    await service.say('s', '2*1*Ana*730915');
    await service.say('s', '2*1*Ana*730915*730915');
    const rows = await withTables(service, async (db) => [
      await db.selectFrom('ussd_session').selectAll().execute(),
      await db.selectFrom('ussd_action_result').selectAll().execute(),
      await db.selectFrom('ussd_account').selectAll().execute(),
      await db.selectFrom('ussd_profile').selectAll().execute(),
    ]);
    expect(JSON.stringify(rows)).not.toContain('730915');
    const debug = await (await service.get('/api/ussd/debug/s')).text();
    expect(debug).not.toContain('730915');
    expect(debug).toContain('"isAuthenticated":true');
  });

  test('the language is remembered for the phone number, on every instance', async () => {
    await using service = await startService(engine);
    const second = await service.startAnother();
    expect(await service.say('a', '2*3*2')).toContain('La langue est maintenant le francais.');
    expect(await second.say('b', '')).toContain('Bienvenue sur Palaver');
    expect(await second.say('c', '', { phoneNumber: other })).toMatch(mainMenu);
    // What was opened in English is replayed from an English start, and still ends in French.
    expect(await second.say('a', '2*3*2*0')).toContain('Bienvenue sur Palaver');
  });

  test('an unfinished form is offered at the next dial, in every language, until it is finished', async () => {
    await using service = await startService(engine);
    await register(service, 'r');
    await service.say('a', '');
    await service.say('a', '3*2*30');
    const menu = await service.say('b', '');
    expect(menu).toContain('5. Continue where you stopped');
    expect(await service.say('c', '', { phoneNumber: other })).not.toContain('5. Continue');
    expect(await service.say('b', '5')).toContain('Clean cooking (meals): 30\nEnter your PIN');
    expect(await service.say('b', '5*4071')).toContain('Your report is filed');
    expect(await service.say('b', '5*4071*0')).toMatch(mainMenu);
    expect(await service.say('d', '')).not.toContain('5. Continue');
  });

  test('a form is not offered after RESUME_MINUTES, nor where nothing was answered', async () => {
    await using service = await startService(engine, { RESUME_MINUTES: '0' });
    await register(service, 'r');
    await service.say('a', '3*2');
    expect(await service.say('b', '')).not.toContain('5. Continue');
    const patient = await service.startAnother({ RESUME_MINUTES: '30' });
    await patient.say('c', '3');
    expect(await patient.say('d', '', { phoneNumber: other })).not.toContain('5. Continue');
  });
});

test('input by input, in one shortcut, or over two instances: the same text leads to the same screen', async () => {
  await using service = await startService();
  const second = await service.startAnother();
  const input = fc.constantFrom('0', '1', '2', '3', '4', '98', '', 'Ana', '4071', '1234');
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(input, { minLength: 1, maxLength: 9 }), async (inputs) => {
      const phone = { phoneNumber: `+25471${String(run).padStart(7, '0')}` };
      const id = `p${run++}`;
      // Two empty inputs in a row at the end read as exit; the contract says so.
      fc.pre(!inputs.join('*').includes('**'));
      let last = '';
      for (let i = 0; i <= inputs.length; i++) {
        last = await (i % 2 ? second : service).say(id, inputs.slice(0, i).join('*'), phone);
      }
      const other = { phoneNumber: `+25472${String(run).padStart(7, '0')}` };
      expect(await service.say(`${id}-whole`, inputs.join('*'), other)).toBe(last);
    }),
    { numRuns: 40 },
  );
});

test('what was kept for a day is removed, and only that', async () => {
  await using service = await startService();
  await register(service, 'old');
  await service.say('new', '1');
  await withTables(service, async (db) => {
    const day = 24 * 3_600_000;
    await db.updateTable('ussd_session').set({ opened_at: 1, seen_at: 1 }).where('id', '=', 'old').execute();
    await db
      .updateTable('ussd_action_result')
      .set({ created_at: Date.now() - day - 1 })
      .execute();
    const parts = { cache: createSessionCache(10), timeoutMs: 180_000, resumeMs: 1e9, retentionMs: 24 * 3_600_000 };
    const store = await openStore<UssdTables>(service.databaseUrl);
    await sweep({ ...parts, store }, Date.now()).finally(() => store.close());
    const sessions = await db.selectFrom('ussd_session').select('id').execute();
    expect(sessions).toEqual([{ id: 'new' }]);
    expect(await db.selectFrom('ussd_action_result').selectAll().execute()).toEqual([]);
    expect(await db.selectFrom('ussd_account').select('phone').execute()).toEqual([{ phone: phoneNumber }]);
  });
});

test('a blank more or less in an input is the same input: its effect is not repeated', async () => {
  await using service = await startService('sqlite', { USSD_REPEAT_MINUTES: '0' });
  await register(service, 'r');
  const texts = ['3*1*5*4071', '3*1* 5*4071', '3 *1*5*4071', '3*1*5 *4071'];
  const replies = [];
  for (const text of texts) replies.push(await service.say('report', text));
  expect(new Set(replies).size).toBe(1);
  expect(await (await service.get('/api/ussd/reports')).json()).toMatchObject({ total: 1 });
});
