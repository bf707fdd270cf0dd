// Sums over all records of a caller or of everyone, however many there are.
import { randomBytes, randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { openStore } from '@palaver/store';
import { openCipher } from '@palaver/store/internal';
import { createTestDatabase, engines } from '@palaver/test-kit';
import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { checkProgramFiles } from '../src/commands/check-programs.ts';
import { createRecordStore } from '../src/store/records.ts';
import type { UssdTables } from '../src/store/tables.ts';
import { startService, type TestService, ussdTemplate } from './service-fixture.ts';
import { writeProgram } from './write-program.ts';

const savings = fileURLToPath(new URL('../../../examples/savings-group', import.meta.url));
const serviceCode = '*384*42#';
const phoneNumber = '+254700000001';

/** Deposits of 100 that were made before, one a minute. */
async function deposit(service: TestService, count: number, phone = phoneNumber): Promise<void> {
  const store = await openStore<UssdTables>(service.databaseUrl);
  const records = createRecordStore(store);
  const kind = { program: 'savings-group', kind: 'movement' };
  const fields = { amount: 100, kind: 'deposit', day: '2026-11-01' };
  await store.transaction(async (trx) => {
    for (let i = 0; i < count; i++)
      await records.insert(trx, { ...kind, id: randomUUID(), phone, fields, now: Date.now() - (count - i) * 60_000 });
  });
  await store.close();
}

describe.each(engines)('the savings example on %s', (engine) => {
  test('the balance counts every movement and so does the withdrawal check', async () => {
    await using service = await startService(engine, { USSD_PROGRAMS: savings });
    await deposit(service, 207);
    await deposit(service, 1_000, '+254700000002');
    const say = (id: string, text: string) => service.say(id, text, { serviceCode });
    expect(await say('a', '3')).toMatch(/20700\b/);
    expect(await say('b', '4')).toMatch(/120700\b/);
    expect(await say('c', '2*1*Ana*4071*4071')).toMatch(/You have 20700\./);
    expect(await say('c', '2*1*Ana*4071*4071*20600')).toMatch(/Withdraw 20600 of your 20700\?/);
  });
});

/** A box of ten, that everyone takes from. */
const box = {
  'program.yaml': `
name: savings-group
codes: ["${serviceCode}"]
extends: palaver
languages: [en]
start: home
records:
  movement: { amount: decimal, kind: text, day: date }
states:
  home: { kind: menu, text: home, options: [{ text: go, to: take }, { text: mark, to: mark }] }
  take:
    kind: action
    store: movement
    fields: { amount: 4, kind: '"open"' }
    check: { of: everyone, save: { taken: sum(amount) }, that: taken + 4 <= 10 }
    outcomes: { stored: shown, refused: none }
  mark:
    kind: action
    update: movement
    where: 'row.kind == "open"'
    fields: { kind: '"marked"' }
    check: { of: everyone, where: 'row.kind == "marked"', save: { taken: count() }, that: taken < 1 }
    outcomes: { updated: shown, none: shown, refused: none }
  shown: { kind: page, text: shown }
  none: { kind: page, text: none }
`,
  'locales/en.yaml': `home: Home\ngo: Go\nmark: Mark\nnone: None.\nshown: '{taken}'\n`,
};

describe.each(engines)('calls at the same time on %s', (engine) => {
  test('three open calls withdraw what is saved once, on whichever instance', async () => {
    await using service = await startService(engine, { USSD_PROGRAMS: savings });
    await using other = await service.startAnother();
    await deposit(service, 10);
    expect(await service.say('first', '2*1*Ana*4071*4071', { serviceCode })).toMatch(/You have 1000\./);
    const calls = [service, other, service].map((instance, i) => {
      const say = (text: string) => instance.say(`call-${i}`, text, { serviceCode });
      return say;
    });
    for (const say of calls) expect(await say('2*4071*1000')).toMatch(/Withdraw 1000 of your 1000\?/);
    const replies = await Promise.all(calls.map((say) => say('2*4071*1000*1')));
    expect(replies.filter((reply) => reply.startsWith('CON You withdrew 1000. 0 stays'))).toHaveLength(1);
    expect(replies.filter((reply) => reply.startsWith('CON You have not saved that much.'))).toHaveLength(2);
    expect(await service.say('last', '3', { serviceCode })).toMatch(/You have 0\./);
  });

  test('what is left for everyone is given out once', async () => {
    await using dir = await writeProgram(box);
    await using service = await startService(engine, { USSD_PROGRAMS: dir.path });
    await using other = await service.startAnother();
    const say = (i: number, text: string) =>
      (i % 2 ? service : other).say(`s${i}-${text}`, text, { serviceCode, phoneNumber: `+25470000001${i}` });
    const calls = [0, 1, 2, 3, 4];
    const taken = await Promise.all(calls.map((i) => say(i, '1')));
    expect(taken.map((reply) => reply.split('\n')[0]).toSorted()).toEqual([
      'CON 0',
      'CON 4',
      'CON None.',
      'CON None.',
      'CON None.',
    ]);
    const marked = await Promise.all(calls.map((i) => say(i, '2')));
    const holders = marked.filter((_, i) => !taken[i]?.startsWith('CON None.'));
    expect(holders.map((reply) => reply.split('\n')[0]).toSorted()).toEqual(['CON 0', 'CON None.']);
  });
});

const program = (states: string) => ({
  'program.yaml': `
name: savings-group
codes: ["${serviceCode}"]
extends: palaver
languages: [en]
start: home
records:
  movement: { amount: decimal, kind: text, day: date }
states:
  home: { kind: menu, text: home, options: [{ text: go, to: look }] }
${states}
  shown: { kind: page, text: shown }
  none: { kind: page, text: none }
`,
  'locales/en.yaml': `home: Home\ngo: Go\nnone: None.\nshown: '{value}'\n`,
});

async function show(states: string, deposits: number): Promise<string> {
  await using dir = await writeProgram(program(states));
  await using service = await startService('sqlite', { USSD_PROGRAMS: dir.path });
  await deposit(service, deposits);
  return await service.say('a', '1', { serviceCode });
}

const look = (fields: string) => `  look: { kind: action, ${fields}, outcomes: { found: shown, none: none } }`;

test.each([
  ['total: movement, save: { value: max(amount) }', 3, '100'],
  ['total: movement, save: { value: min(day) }', 3, '2026-11-01'],
  ['total: movement, where: row.amount > 100, save: { value: count() }', 3, 'None.'],
  ['total: movement, where: \'row.kind == "deposit"\', save: { value: count() }', 1_200, '1200'],
  ['find: movement, save: rows, limit: 2, more: value', 3, 'true'],
  ['find: movement, save: rows, limit: 3, more: value', 3, 'false'],
])('%s over %i records is %s', async (fields, deposits, shown) => {
  expect(await show(look(fields), deposits)).toMatch(new RegExp(`^CON ${shown}\n`));
});

test('with a record that cannot be read a program gives no figure, and writes nothing that is checked by one', async () => {
  await using dir = await writeProgram(
    program(`  look: { kind: action, total: movement, save: { value: sum(amount) }, outcomes: { found: take, none: take } }
  take: { kind: action, store: movement, fields: { amount: -100 }, check: { save: { value: sum(amount) }, that: value >= 100 }, outcomes: { stored: shown, refused: none } }`),
  );
  const env = { USSD_PROGRAMS: dir.path, DATA_ENCRYPTION_KEY: randomBytes(32).toString('hex') };
  await using service = await startService('sqlite', env);
  const store = await openStore<UssdTables>(service.databaseUrl, {
    dataKeys: [Buffer.from(env.DATA_ENCRYPTION_KEY, 'hex')],
  });
  await openCipher(store);
  const records = createRecordStore(store);
  const kind = { program: 'savings-group', kind: 'movement', phone: phoneNumber };
  await store.transaction(async (trx) => {
    for (const [id, amount] of [100, -100].entries())
      await records.insert(trx, { ...kind, id: `r${id}`, fields: { amount, kind: 'deposit' }, now: id });
  });
  expect(await service.say('before', '1', { serviceCode })).toMatch(/^CON None\./);
  const damaged = sql<string>`substr(fields, 1, length(fields) - 6) || 'AAAAAA'`;
  await store.db.updateTable('ussd_record').set({ fields: damaged }).where('id', '=', 'r1').execute();
  expect(await service.say('after', '1', { serviceCode })).toMatch(/^END /);
  expect(await store.db.selectFrom('ussd_record').select('id').execute()).toHaveLength(2);
  await store.close();
});

test('whatever is done to records changes the sum of their marks', async () => {
  await using database = await createTestDatabase('postgres', ussdTemplate);
  const store = await openStore<UssdTables>(database.url);
  const records = createRecordStore(store);
  const kind = { program: 'p', kind: 'k' };
  const insert = (id: string) =>
    store.transaction((trx) => records.insert(trx, { ...kind, id, phone: phoneNumber, fields: {}, now: 1 }));
  const mark = () => records.mark({ ...kind, most: 10 });
  const marks = [await mark()];
  const note = async () => marks.push(await mark());
  for (const id of ['a', 'b']) await insert(id).then(note);
  await store.transaction((trx) => records.update(trx, { id: 'a', matches: () => true, fields: { x: 1 } })).then(note);
  await store.db.deleteFrom('ussd_record').where('id', '=', 'a').execute().then(note);
  await insert('c').then(note);
  expect(marks.map(({ count }) => count)).toEqual([0, 1, 2, 2, 1, 2]);
  expect(new Set(marks.map(({ marks: sum }) => sum)).size).toBe(marks.length);
  await store.close();
});

test('totals of everyone run two at a time, and those beyond the ones that wait are refused', async () => {
  await using dir = await writeProgram(program(look('total: movement, of: everyone, save: { value: count() }')));
  await using service = await startService('postgres', { USSD_PROGRAMS: dir.path });
  await deposit(service, 3);
  const client = new pg.Client({ connectionString: service.databaseUrl });
  await client.connect();
  await client.query('begin; lock table ussd_record in access exclusive mode');
  const replies: string[] = [];
  const calls = Array.from({ length: 40 }, async (_, i) => {
    const number = `+2547000001${String(i).padStart(2, '0')}`;
    replies.push(await service.say(`c${i}`, '1', { serviceCode, phoneNumber: number }));
  });
  await expect.poll(() => replies.length, { timeout: 10_000 }).toBe(18);
  for (const reply of replies) expect(reply).toMatch(/^END /);
  await client.query('rollback');
  await client.end();
  await Promise.all(calls);
  expect(replies.filter((reply) => reply.startsWith('CON 3\n'))).toHaveLength(22);
});

test('the check knows the fields of a total, and warns of a sum over a list', async () => {
  const check = async (states: string) => {
    await using dir = await writeProgram(program(states));
    return (await checkProgramFiles({ folder: dir.path })).lines.join('\n');
  };
  expect(await check(look('total: movement, save: { value: sum(amout) }'))).toContain(
    'the record movement has no field amout (did you mean amount?)',
  );
  expect(await check(look('total: movement, save: { value: sum(kind) }'))).toContain(
    'sum(kind) needs a field of numbers, and its type is text',
  );
  expect(await check(look('total: movement, save: { value: average(amount) }'))).toContain(
    'count(), or sum, min or max of a field, such as sum(amount)',
  );
  const summed = `  look: { kind: action, find: movement, save: rows, outcomes: { found: add, none: none } }
  add: { kind: set, values: { value: 'sum(rows.map(row, row.amount))' }, to: shown }`;
  expect(await check(summed)).toContain('adds up at most 50 records; `total: movement` adds up all of them');
});

test('the check warns of a write after a total that other calls may have read too', async () => {
  const check = async (store: string) => {
    const states = `  look: { kind: action, total: movement, save: { value: sum(amount) }, outcomes: { found: some, none: none } }
  some: { kind: branch, when: [{ that: value >= 50, to: sure }], else: none }
  sure: { kind: menu, text: home, options: [{ text: go, to: take }] }
  take: { kind: action, store: movement, fields: { amount: -50 }, ${store} }`;
    await using dir = await writeProgram(program(states));
    return (await checkProgramFiles({ folder: dir.path })).lines.join('\n');
  };
  const warning = 'calls at the same time may have read the same `value`';
  expect(await check('outcomes: { stored: shown }')).toContain(warning);
  const safe = await check(
    'check: { save: { value: sum(amount) }, that: value >= 50 }, outcomes: { stored: shown, refused: none }',
  );
  expect(safe).not.toContain(warning);
  expect(safe).not.toContain('take');
});
