// One form, or one caller of it, takes nothing from the callers of other forms.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createForms, type Forms } from '@palaver/forms/internal';
import type { FormReply, FormSource } from '@palaver/program/internal';
import { createTempDir, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { createOperator } from './program-operator.ts';
import { startService } from './service-fixture.ts';
import { writeProgram } from './write-program.ts';

const short = readFileSync(join(import.meta.dirname, 'forms/short.xml'), 'utf8');
const nestedCount = `count(${'/data//*['.repeat(12)}1${']'.repeat(12)})`;
const endless = short.replace('type="int"', `type="int" relevant="if(/data/name = 'x', ${nestedCount}, 0) = 0"`);

/** `n` times `m` instances, where `n` may be 20 at most. */
const repeats = `<h:html xmlns="http://www.w3.org/2002/xforms" xmlns:h="http://www.w3.org/1999/xhtml" xmlns:jr="http://openrosa.org/javarosa">
<h:head><h:title>Repeats</h:title><model>
<instance><data id="repeats" version="1"><n/><m/><outer jr:template=""><inner jr:template=""><name/></inner></outer></data></instance>
<bind nodeset="/data/n" type="int" constraint=". &lt;= 20" jr:constraintMsg="Twenty at most."/><bind nodeset="/data/m" type="int"/>
<bind nodeset="/data/outer/inner/name" type="string"/>
</model></h:head>
<h:body><input ref="/data/n"><label>How many?</label></input><input ref="/data/m"><label>How many each?</label></input>
<group ref="/data/outer"><label/><repeat nodeset="/data/outer" jr:count=" /data/n "><group ref="/data/outer/inner"><label/>
<repeat nodeset="/data/outer/inner" jr:count=" /data/m "><input ref="/data/outer/inner/name"><label>Name</label></input></repeat></group></repeat></group>
</h:body></h:html>`;

const toForm = (xml: string): FormSource => ({ xml, attachments: {} });
const call = { language: 'en', phoneNumber: '+254700000001' };

async function press(forms: Pick<Forms, 'press'>, form: FormSource, inputs: string[]): Promise<FormReply> {
  let reply = await forms.press(form, call);
  for (const input of inputs) {
    if (reply.kind !== 'screen') throw new Error(`the form is ${reply.kind}`);
    reply = await forms.press(form, { ...call, progress: reply.progress, input });
  }
  return reply;
}

test('callers of a form that does not end hold up no other form', async () => {
  await using forms = createForms({ timeoutMs: 60_000 });
  const [slow, other] = [toForm(endless), toForm(short)];
  await Promise.all([press(forms, slow, []), press(forms, other, [])]);
  let ended = 0;
  const attack = Promise.allSettled(['1', '2', '3'].map(() => press(forms, slow, ['x']).finally(() => ended++)));
  for (let i = 0; i < 5; i++)
    expect(await press(forms, other, ['Ana'])).toMatchObject({ screen: { body: 'How many people?' } });
  expect(ended).toBe(0);
  await forms.close();
  await attack;
});

test('a thread that is ended costs nobody the call but who ended it', async () => {
  await using forms = createForms({ threads: 1, timeoutMs: 1_000, waitMs: 120_000 });
  const [slow, other] = [toForm(endless), toForm(short)];
  const replies = await Promise.allSettled([
    press(forms, slow, ['x']),
    press(forms, other, ['Ana']),
    press(forms, slow, ['Ana']),
  ]);
  expect(replies.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
});

test('a caller who has held up others waits behind them', async () => {
  await using forms = createForms({ threads: 1, timeoutMs: 1_500, waitMs: 120_000 });
  const form = toForm(endless);
  const begin = (phoneNumber: string) => forms.press(form, { ...call, phoneNumber });
  const hold = async (phoneNumber: string) => {
    const begun = await begin(phoneNumber);
    if (begun.kind !== 'screen') throw new Error('the form shows nothing');
    return forms.press(form, { ...call, phoneNumber, progress: begun.progress, input: 'x' });
  };
  await expect(hold('+254700000002')).rejects.toThrow('took too long');
  const order: string[] = [];
  const first = begin('+254700000003');
  await Promise.all([
    first,
    begin('+254700000002').then(() => order.push('guilty')),
    begin('+254700000004').then(() => order.push('other')),
  ]);
  expect(order).toEqual(['other', 'guilty']);
});

test('a caller does not wait for a form without end', async () => {
  await using forms = createForms({ threads: 1, timeoutMs: 60_000, waitMs: 200 });
  const [slow, other] = [toForm(endless), toForm(short)];
  const begun = await forms.press(slow, call);
  if (begun.kind !== 'screen') throw new Error('the form shows nothing');
  const attack = forms.press(slow, { ...call, progress: begun.progress, input: 'x' }).catch(() => 'ended');
  await expect(press(forms, other, [])).rejects.toThrow('busy for too long');
  await forms.close();
  expect(await attack).toBe('ended');
});

test('callers of one form share the threads that it may have, and the others keep theirs', async () => {
  await using forms = createForms({ threads: 4, timeoutMs: 60_000, waitMs: 60_000 });
  const [slow, other] = [toForm(endless), toForm(short)];
  const begun = [await forms.press(slow, call), await forms.press(slow, call)];
  let ended = 0;
  const hold = begun.map((reply, i) => {
    if (reply.kind !== 'screen') throw new Error('the form shows nothing');
    return { ...call, progress: reply.progress, input: i === 0 ? 'x' : 'Ana' };
  });
  const attack: Promise<unknown>[] = [forms.press(slow, hold[0] ?? call).catch(() => ended++)];
  expect(await forms.press(slow, hold[1] ?? call)).toMatchObject({ screen: { body: 'How many people?' } });
  attack.push(press(forms, slow, ['x']).catch(() => ended++));
  expect(await press(forms, other, ['Ana'])).toMatchObject({ screen: { body: 'How many people?' } });
  expect(ended).toBe(0);
  await forms.close();
  await Promise.all(attack);
});

test('callers who have held up others share one thread of a form, and leave it the rest', async () => {
  await using forms = createForms({ threads: 4, timeoutMs: 60_000, waitMs: 120_000 });
  const begin = async (form: FormSource, phoneNumber: string) => {
    const reply = await forms.press(form, { ...call, phoneNumber });
    if (reply.kind !== 'screen') throw new Error('the form shows nothing');
    return (input: string) => forms.press(form, { ...call, phoneNumber, progress: reply.progress, input });
  };
  const [costly, slow] = [repeatOf(named(8, 'calculate="sum(/data/each/q0) + count(/data/each)"')), toForm(endless)];
  const phones = ['+254700000002', '+254700000003', '+254700000004'];
  const attack = await Promise.all(
    phones.map(async (phone) => {
      const named = await (await begin(costly, phone))('Ana');
      if (named.kind !== 'screen') throw new Error('the form shows nothing');
      await forms.press(costly, { ...call, phoneNumber: phone, progress: named.progress, input: '200' });
      return begin(slow, phone);
    }),
  );
  let ended = 0;
  const held = attack.map((press) => press('x').catch(() => ended++));
  for (let i = 0; i < 5; i++)
    expect(await press(forms, slow, ['Ana'])).toMatchObject({ screen: { body: 'How many people?' } });
  expect(ended).toBe(0);
  await forms.close();
  await Promise.all(held);
});

test('callers of a form that has ended its thread do not wait behind who ended it', async () => {
  await using forms = createForms({ threads: 3, timeoutMs: 6_000, waitMs: 60_000 });
  const form = toForm(endless);
  const begin = (phoneNumber: string) => forms.press(form, { ...call, phoneNumber });
  const order: string[] = [];
  const hold = async () => {
    const begun = await begin('+254700000002');
    if (begun.kind !== 'screen') throw new Error('the form shows nothing');
    const press = { ...call, phoneNumber: '+254700000002', progress: begun.progress, input: 'x' };
    return () => forms.press(form, press).catch(() => order.push('guilty'));
  };
  await (await hold())();
  const attack = (await hold())();
  await begin('+254700000003').then(() => order.push('other'));
  await attack;
  expect(order).toEqual(['guilty', 'other', 'guilty']);
});

test('a form with many open calls is not loaded again for each of them', async () => {
  let loads = 0;
  await using forms = createForms({ threads: 1, onLoad: () => loads++ });
  const form = toForm(short);
  const calls = Array.from({ length: 100 }, () => forms.press(form, call));
  const begun = await Promise.all(calls);
  const before = loads;
  for (const reply of begun) {
    if (reply.kind !== 'screen') throw new Error('the form shows nothing');
    const next = await forms.press(form, { ...call, progress: reply.progress, input: 'Ana' });
    expect(next).toMatchObject({ screen: { body: 'How many people?' } });
  }
  expect(loads).toBe(before);
});

test('a form that made room for others is loaded again by its next caller', async () => {
  await using forms = createForms({ threads: 1 });
  const all = Array.from({ length: 51 }, (_, i) => toForm(short.replace('<h:title>', `<h:title>${i} `)));
  for (const form of all) await press(forms, form, []);
  expect(await press(forms, all[0] as FormSource, ['Ana'])).toMatchObject({ screen: { body: 'How many people?' } });
});

test('repeats that callers count have a limit in all, and none is made for an answer that is refused', async () => {
  await using forms = createForms();
  const form = toForm(repeats);
  const count = (reply: FormReply) =>
    reply.kind === 'screen' ? (reply.progress.xml.match(/<name\/>/g) ?? []).length : 0;
  const range = { key: 'hint.range', values: { 'question.min': '0', 'question.max': '200' } };
  const refused = await press(forms, form, ['200']);
  expect(refused).toMatchObject({ screen: { body: 'How many?', hint: { text: 'Twenty at most.' } } });
  for (const [inputs, hint] of [
    [['20', '200'], { key: 'form.full' }],
    [['20', '201'], range],
    [['20', '99999999'], range],
    [['000', '200', '0', '00', '20'], { key: 'form.full' }],
  ] as const) {
    const reply = await press(forms, form, [...inputs]);
    expect([inputs, reply]).toEqual([inputs, expect.objectContaining({ screen: expect.objectContaining({ hint }) })]);
    expect(count(reply)).toBe(0);
  }
  const most = await press(forms, form, ['20', '200', '24']);
  expect(most).toMatchObject({ screen: { body: expect.stringMatching(/Name$/) } });
  expect(count(most)).toBe(480);
  // An answer that is refused leaves what was entered before.
  const kept = await press(forms, form, ['2', '2', 'Ana', '0', '0', '00', '30', '000']);
  expect(kept).toMatchObject({ progress: { xml: expect.stringContaining('<name>Ana</name>') } });
});

/** A repeat whose length the caller says, of these elements and controls. */
const repeatOf = (fields: Record<string, string>, { asked = [] as string[], select = '', more = '' } = {}) => {
  const names = Object.keys(fields);
  const bind = (name: string) => `<bind nodeset="/data/each/${name}" ${fields[name]}/>`;
  const input = (name: string) => `<input ref="/data/each/${name}"><label>${name}</label></input>`;
  return toForm(`<h:html xmlns="http://www.w3.org/2002/xforms" xmlns:h="http://www.w3.org/1999/xhtml" xmlns:jr="http://openrosa.org/javarosa">
<h:head><h:title>Each</h:title><model>
<instance><data id="each" version="1"><name/><n/><each jr:template="">${names.map((name) => `<${name}/>`).join('')}</each></data></instance>${more}
<bind nodeset="/data/n" type="int"/>${names.map(bind).join('')}</model></h:head>
<h:body><input ref="/data/name"><label>Name</label></input><input ref="/data/n"><label>How many?</label></input>
<group ref="/data/each"><label/><repeat nodeset="/data/each" jr:count=" /data/n ">${asked.map(input).join('')}${select}</repeat></group></h:body></h:html>`);
};
const named = (count: number, attributes: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`q${i}`, attributes]));
const listOf = (length: number) => {
  const item = (_: unknown, i: number) => `<item><name>p${i}</name><label>${i}</label><of>o${i % 100}</of></item>`;
  return `<instance id="places"><root>${Array.from({ length }, item).join('')}</root></instance>`;
};
const choose = (where: string) =>
  `<select1 ref="/data/each/q0"><label>Where?</label><itemset nodeset="instance('places')/root/item${where}"><value ref="name"/><label ref="label"/></itemset></select1>`;

test.each([
  ['of 40 questions', repeatOf(named(40, 'type="string"'), { asked: Object.keys(named(40, '')) }), '200'],
  ['of conditions', repeatOf(named(12, `type="int" relevant="../q0 != 1" constraint="../q0 != ."`)), '200'],
  ['of sums of itself', repeatOf(named(8, 'calculate="sum(/data/each/q0) + count(/data/each)"')), '200'],
  ['of a long list', repeatOf(named(1, ''), { select: choose('[of = /data/name]'), more: listOf(2_000) }), '200'],
  [
    'of values in a long list',
    repeatOf(named(1, `calculate="instance('places')/root/item[name = /data/name]/label"`), { more: listOf(2_000) }),
    '200',
  ],
])('a repeat %s has as many instances as can be computed, and who asks for more reads so', async (_, form, many) => {
  await using forms = createForms({ threads: 1, timeoutMs: 60_000, waitMs: 60_000 });
  const refused = await press(forms, form, ['Ana', many]);
  expect(refused).toMatchObject({ screen: { body: 'How many?', hint: { key: 'form.full' } } });
  if (refused.kind !== 'screen') throw new Error('nothing is shown');
  expect(refused.progress.xml).toContain('<name>Ana</name>');
  const fewer = await forms.press(form, { ...call, progress: refused.progress, input: '1' });
  expect(fewer).toMatchObject({ progress: { xml: expect.stringContaining('<n>1</n>') } });
});

test('instances that are added one by one are as few as can be computed together', async () => {
  const { xml } = repeatOf(named(1, ''), { select: choose('[of = /data/name]'), more: listOf(10_000) });
  const form = toForm(xml.replace('jr:count=" /data/n "', ''));
  await using forms = createForms({ threads: 1, timeoutMs: 60_000, waitMs: 60_000 });
  let reply = await press(forms, form, ['Ana', '1']);
  for (let i = 0; i < 60; i++) {
    if (reply.kind !== 'screen' || reply.screen.hint) break;
    const input = reply.screen.type === 'another' ? '1' : '000';
    reply = await forms.press(form, { ...call, progress: reply.progress, input });
  }
  expect(reply).toMatchObject({ screen: { type: 'another', hint: { key: 'form.full' } } });
});

test('a pattern of a form takes time that grows with the answer only', async () => {
  const pattern = (text: string) => toForm(short.replace('type="string"', () => `type="string" constraint="${text}"`));
  await using forms = createForms({ threads: 1, timeoutMs: 5_000 });
  const form = pattern("regex(., '^(([a-z])+.)+[A-Z]([a-z])+$')");
  expect(await press(forms, form, ['a'.repeat(60)])).toMatchObject({ screen: { hint: { key: 'form.refused' } } });
  expect(await press(forms, form, ['abcAbc'])).toMatchObject({ screen: { body: 'How many people?' } });
  const { faults } = await forms.inspect(pattern("regex(., '^(?!0)[0-9]+$')"));
  expect(faults).toEqual([{ line: expect.any(Number), message: expect.stringContaining('^(?!0)[0-9]+$') }]);
});

test('groups inside each other are refused where there are too many for the engine', async () => {
  await using forms = createForms();
  const groups = Array.from({ length: 20 }, (_, i) => `g${i}`);
  const path = `/data/${groups.join('/')}/name`;
  const xml = short
    .replace(
      '<name/>',
      `${groups.map((name) => `<${name}>`).join('')}<name/>${groups
        .toReversed()
        .map((name) => `</${name}>`)
        .join('')}`,
    )
    .replaceAll('/data/name', path);
  const { faults } = await forms.inspect(toForm(xml));
  expect(faults).toMatchObject([{ message: 'there are groups in groups 20 deep: use at most 12 levels' }]);
});

test('the time to load a form does not count for a key press', async () => {
  const { xml } = repeatOf(named(1, ''), { select: choose('[of = /data/name]'), more: listOf(10_000) });
  await using loading = createForms({ threads: 1, timeoutMs: 400, waitMs: 60_000 });
  // The engine loads a form again now and then.
  for (let i = 0; i < 30; i++)
    expect(await loading.press(toForm(xml), call)).toMatchObject({ screen: { body: 'Name' } });
});

test('three phones that count a form up leave the others their forms', async () => {
  const state = (name: string) => `{ kind: form, form: forms/${name}.xml, to: home }`;
  await using dir = await writeProgram({
    'program.yaml': `name: two\ncodes: ["*384*9#"]\nextends: palaver\nlanguages: [en]\nstart: home
states:
  home: { kind: menu, text: home, options: [{ text: a, to: short }, { text: b, to: repeats }] }
  short: ${state('short')}
  repeats: ${state('repeats')}
`,
    'locales/en.yaml': 'home: Home\na: Short\nb: Repeats\n',
    'forms/short.xml': short,
    'forms/repeats.xml': repeats.replace('constraint=". &lt;= 20"', ''),
  });
  await using service = await startService('sqlite', { USSD_PROGRAMS: dir.path });
  const say = (phone: number, text: string) =>
    service.say(`s${phone}`, text, { serviceCode: '*384*9#', phoneNumber: `+25470000000${phone}` });
  const attack = [1, 2, 3].map((phone) => say(phone, '2*200*200'));
  for (const text of ['', '1', '1*Ana']) expect(await say(4, text)).toMatch(/^CON /);
  // On a busy machine they have waited for each other too long.
  for (const reply of await Promise.all(attack))
    expect(reply).toMatch(/^CON .*How many each\?|^END Service temporarily unavailable/s);
});

test('a form is loaded when its program is published, and its first caller finds it loaded', async () => {
  await using service = await startService();
  await using other = await service.startAnother();
  const ask = createOperator(service);
  const files = {
    'program.yaml': `name: survey\ncodes: ["*384*9#"]\nextends: palaver\nlanguages: [en]\nstart: home
states:
  home: { kind: menu, text: home, options: [{ text: a, to: short }] }
  short: { kind: form, form: forms/short.xml, to: home }
`,
    'locales/en.yaml': 'home: Home\na: Short\n',
    'forms/short.xml': short,
  };
  await ask('PUT', '/survey/draft', { files, revision: 0 });
  expect(await ask('POST', '/survey/publish', { revision: 1 })).toMatchObject({ status: 200 });
  for (const each of [service, other]) {
    const loads = async (by: string) =>
      new RegExp(`^ussd_form_loads_total\\{.*by="${by}".*\\} (\\d+)`, 'm').exec(
        await (await each.get('/metrics')).text(),
      )?.[1];
    await waitFor('the form', async () => (await loads('ahead')) === '1', 60_000);
    const phone = { serviceCode: '*384*9#', phoneNumber: each === service ? '+254700000001' : '+254700000002' };
    expect(await each.say(`first-${phone.phoneNumber}`, '1', phone)).toContain('Your name');
    expect(await loads('call')).toBeUndefined();
  }
});

test('what the engine prints does not reach the output of the service', async () => {
  const file = new URL('../../../packages/forms/src/internal.ts', import.meta.url).href;
  const script = `import { createForms } from ${JSON.stringify(file)};
    const form = { xml: ${JSON.stringify(repeats)}, attachments: {} };
    const call = { language: 'en', phoneNumber: '+254700000001' };
    await using forms = createForms();
    let reply = await forms.press(form, call);
    for (const input of ['3', '3', 'Ana', '0', '0', '00', '1'])
      reply = await forms.press(form, { ...call, progress: reply.progress, input });
    console.log(reply.kind);`;
  await using dir = await createTempDir();
  const program = join(dir.path, 'press.mjs');
  writeFileSync(program, script);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program]);
  expect([stdout.trim(), stderr]).toEqual(['screen', '']);
});

test('callers who each ask for more than a form takes come after those who do not', async () => {
  const form = repeatOf(named(8, 'calculate="sum(/data/each/q0) + count(/data/each)"'));
  await using forms = createForms({ threads: 1, timeoutMs: 60_000, waitMs: 120_000 });
  const own = (i: number) => ({ ...call, phoneNumber: `+25470000001${i}` });
  const reach = async (i: number) => {
    const begun = await forms.press(form, own(i));
    if (begun.kind !== 'screen') throw new Error('nothing is shown');
    return forms.press(form, { ...own(i), progress: begun.progress, input: 'Ana' });
  };
  const order: string[] = [];
  const ready: FormReply[] = [];
  for (let i = 0; i < 9; i++) ready.push(await reach(i));
  const ask = async (i: number, input: string) => {
    const reply = ready[i];
    if (reply?.kind !== 'screen') throw new Error('nothing is shown');
    const answer = await forms.press(form, { ...own(i), progress: reply.progress, input });
    order.push(input);
    return answer;
  };
  const asked = Array.from({ length: 8 }, (_, i) => ask(i, '200'));
  expect(await ask(8, '1')).toMatchObject({ progress: { xml: expect.stringContaining('<n>1</n>') } });
  // Also not after the one that began when nobody else waited.
  expect(order[0]).toBe('1');
  for (const reply of await Promise.all(asked)) expect(reply).toMatchObject({ screen: { hint: { key: 'form.full' } } });
});
