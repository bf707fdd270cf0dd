// What newcomers are offered, and what reporters add to their reports.
import { openStore } from '@palaver/store';
import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import type { UssdTables } from '../src/store/tables.ts';
import { register, startService } from './service-fixture.ts';
import { writeProgram } from './write-program.ts';

describe.each(engines)('on %s', (engine) => {
  test('the language is offered at the first dial, once, and then remembered', async () => {
    await using service = await startService(engine);
    for (let i = 0; i < 2; i++) expect(await service.say('a', '')).toContain('5. Language, langue, lugha\n*. Exit');
    // A slip shows it again, and so does the telecom gateway's retry.
    expect(await service.say('a', '9')).toContain('5. Language, langue, lugha');
    expect(await service.say('b', '')).not.toContain('lugha');
    expect(await service.say('b', '5')).toContain('Not a choice.');

    const other = { phoneNumber: '+254700000002' };
    await service.say('c', '', other);
    expect(await service.say('c', '5', other)).toMatch(/^CON Choose your language\n1\. English\n2\. Fran.ais/);
    await using second = await service.startAnother();
    const chosen = await second.say('c', '5*3', other);
    expect(chosen).toMatch(/^CON .*Kiswahili/);
    expect(chosen).not.toContain('langue');
    expect(await second.say('d', '', other)).toMatch(/^CON Karibu Palaver/);
  });

  test('Back shows the first screen as it was', async () => {
    await using service = await startService(engine);
    const first = await service.say('a', '');
    expect(await service.say('a', '1*0')).toBe(first);
    expect(await service.say('a', '1*0*5')).toMatch(/^CON Choose your language/);
    expect(await service.say('a', '1*0*5*0')).toBe(first);
    await using second = await service.startAnother();
    expect(await second.say('a', '1*0*5*0*3*0')).toBe(first);
  });

  test('a secret choice is neither stored nor shown', async () => {
    await using dir = await writeProgram({
      'program.yaml': `name: vote
codes: ["*384*8#"]
extends: palaver
languages: [en]
start: home
states:
  home: { kind: menu, text: home, options: [{ text: home, to: vote }] }
  vote: { kind: prompt, text: home, type: choice, secret: true, save: vote, options: [{ text: yes, value: favour }, { text: no, value: against }], to: why }
  why: { kind: prompt, text: home, type: text, save: why, to: last }
  last: { kind: page, text: home }
`,
      'locales/en.yaml': 'home: Home\n"yes": In favour\n"no": Against it\n',
    });
    await using service = await startService(engine, { USSD_PROGRAMS: dir.path });
    const code = { serviceCode: '*384*8#' };
    for (const text of ['', '1', '1*2', '1*2*because']) await service.say('a', text, code);
    const store = await openStore<UssdTables>(service.databaseUrl);
    const rows = await store.db.selectFrom('ussd_session').selectAll().execute();
    const profiles = await store.db.selectFrom('ussd_profile').selectAll().execute();
    await store.close();
    const kept = JSON.stringify([rows, profiles]);
    expect(kept).toContain('because');
    expect(kept).not.toMatch(/against|vote\.label|"no"/);
  });

  test('a report has a unit, and place, date and note where its reporter adds them', async () => {
    await using service = await startService(engine, { DATA_ENCRYPTION_KEY: 'ef'.repeat(32) });
    await register(service, 'r');
    const filed = await service.say('a', '3*4*2.5*4071');
    expect(filed).toMatch(/\n1\. Add place, date or note\n/);
    const reference = /Reference: (\w{9})/.exec(filed)?.[1];
    const text = '3*4*2.5*4071*1*Kisumu beach';
    expect(await service.say('a', `${text}*31122999`)).toMatch(/Enter \d\d\/\d\d\/\d{4} or an earlier date/);
    for (let i = 0; i < 2; i++)
      expect(await service.say('a', `${text}*31122999*01112026*With the school`)).toContain(`report ${reference}`);
    await service.say('b', '3*1*7*4071*1*000*000*000');
    const csv = await (await service.get('/api/ussd/reports?format=csv')).text();
    expect(csv).toMatch(/,waste,2\.5,[^,]+,kg,Kisumu beach,2026-11-01,With the school\r\n/);
    expect(csv).toMatch(/,trees,7,[^,]+,trees,,,\r\n/);
    const sheet = await (await service.get('/api/ussd/reports?format=spreadsheet')).text();
    expect(sheet).toContain(`${reference},"=""+254700000001""",waste,2.5,`);
    const { reports } = (await (await service.get('/api/ussd/reports')).json()) as { reports: unknown[] };
    expect(reports).toContainEqual(expect.objectContaining({ reference, unit: 'kg', place: 'Kisumu beach' }));
  });
});

test.each(engines)('on %s the first call of a number is built again as it was, the next one is not', async (engine) => {
  await using service = await startService(engine);
  await using other = await service.startAnother();
  expect(await service.say('a', '')).toContain('5. Language');
  const replies = [await service.say('a', '5'), await service.say('a', '5*1'), await service.say('a', '5*1*1')];
  const store = await openStore<UssdTables>(service.databaseUrl);
  await store.db.deleteFrom('ussd_session').execute();
  await store.close();
  expect(await other.say('a', '5*1*1')).toBe(replies[2]);
  expect(await other.say('b', '')).not.toContain('5. Language');
  expect(await other.say('b', '5')).not.toBe(replies[0]);
});

test('a program in several languages offers them at the first dial, unless it has its own option for them', async () => {
  const about = "{ text: home.about, to: page }, { text: home.go, to: '@resume', when: resumable }";
  const program = (name: string, { code, options, more = '' }: { code: string; options: string; more?: string }) => ({
    [`${name}/program.yaml`]: `
name: ${name}
codes: ["${code}"]
extends: palaver
languages: [sw, fr]
start: home
states:
  home: { kind: menu, text: home.title, options: [${options}] }
  page: { kind: page, text: home.about }
${more}`,
    [`${name}/locales/fr.yaml`]: 'home: { title: Maison, about: Infos, go: Continuer }\n',
    [`${name}/locales/sw.yaml`]: 'home: { title: Nyumba, about: Habari, go: Endelea }\n',
  });
  await using dir = await writeProgram({
    ...program('plain', { code: '*384*1#', options: about }),
    ...program('own', {
      code: '*384*2#',
      options: `{ text: home.go, to: change, set: { language: fr } }, ${about}`,
      more: '  change: { kind: action, action: setLanguage, outcomes: { changed: home } }\n',
    }),
  });
  await using service = await startService('sqlite', { USSD_PROGRAMS: dir.path, USSD_LANGUAGE: 'sw' });
  const [plain, other] = [{ serviceCode: '*384*1#' }, { serviceCode: '*384*2#', phoneNumber: '+254700000002' }];
  expect(await service.say('a', '', plain)).toBe('CON Nyumba\n1. Habari\n2. Lugha, langue, language\n*. Ondoka');
  expect(await service.say('a', '2', plain)).toMatch(/^CON .*\n1\. Kiswahili\n2\. Fran.ais\n0\. Rudi\n/);
  expect(await service.say('a', '2*2', plain)).toMatch(/^CON La langue .*\nMaison\n1\. Infos\n\*\. Quitter$/);
  expect(await service.say('b', '', plain)).toBe('CON Maison\n1. Infos\n*. Quitter');
  expect(await service.say('c', '', other)).toBe('CON Nyumba\n1. Endelea\n2. Habari\n*. Ondoka');
});
