// One form, or one caller of it, takes nothing from the callers of other forms.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTempDir, waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { createForms, type Forms } from '../src/forms/forms.ts';
import type { FormReply, FormSource } from '../src/forms/protocol.ts';
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
    [['20', '200'], { key: 'form.refused' }],
    [['20', '201'], range],
    [['20', '99999999'], range],
    [['000', '200', '0', '00', '20'], { key: 'form.refused' }],
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
  for (const reply of await Promise.all(attack)) expect(reply).toMatch(/^CON .*How many each\?/s);
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
  const file = new URL('../src/forms/forms.ts', import.meta.url).href;
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
