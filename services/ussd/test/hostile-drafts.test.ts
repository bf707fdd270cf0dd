// What an operator tries or checks costs callers nothing, and never the process.
import { expect, test } from 'vitest';
import { createOperator, files } from './program-operator.ts';
import { pressUntil, startService } from './service-fixture.ts';

const withStates = (states: string, texts: string) => {
  const own = files('One');
  return {
    'program.yaml': `${own['program.yaml'].replace('to: page }', 'to: s0 }')}${states}`,
    'locales/en.yaml': `${own['locales/en.yaml']}${texts}`,
  };
};

/** A value of 16,384 characters, which the text of the state `long` shows 12,000 times. */
const doubled = Array.from({ length: 12 }, (_, i) => `v${i + 1}: "v${i} + v${i}"`).join(', ');
const longText = withStates(
  `  s0: { kind: set, values: { v0: "'abcd'", ${doubled} }, to: long }\n  long: { kind: page, text: long, options: [{ text: home.ask, to: page }] }\n`,
  `long: "${'{v12}'.repeat(12_000)}"\n`,
);

test('a draft whose text names a value 12,000 times is tried like any other', async () => {
  await using service = await startService('sqlite');
  const ask = createOperator(service);
  expect(await ask('PUT', '/small/draft', { files: longText, revision: 0 })).toMatchObject({ status: 200 });
  const tries = Promise.all(['1', '2', '3'].map(() => ask('POST', '/small/try', { inputs: ['1', '98', '98'] })));
  expect(await pressUntil(service, tries)).toBeGreaterThan(0);
  for (const { status, body } of await tries) {
    expect(status).toBe(200);
    expect(body).toMatchObject({ state: 'long', screen: expect.stringMatching(/^[abcd]+\n98\. More/) });
  }
  // Published, callers read it: the bound is the same.
  expect(await ask('POST', '/small/publish', {})).toMatchObject({ status: 200 });
  expect(await service.say('reader', '1', { serviceCode: '*384*5#' })).toMatch(/^CON [abcd]+\n98\. More/);
});

test('a draft that computes without end is refused, and callers press keys meanwhile', async () => {
  await using service = await startService('sqlite');
  const ask = createOperator(service);
  // Rows that are searched on every screen, of a list that is as long as it may be.
  const loop = 'size(l.filter(x, l.exists(y, x == 1000)))';
  const list = `[${Array.from({ length: 100 }, (_, i) => i).join(', ')}]`;
  const states = Array.from(
    { length: 40 },
    (_, i) => `  s${i + 1}: { kind: set, values: { n${i}: "${loop}" }, to: ${i < 39 ? `s${i + 2}` : 'page'} }\n`,
  ).join('');
  const draft = withStates(`  s0: { kind: set, values: { l: "${list}" }, to: s1 }\n${states}`, '');
  await ask('PUT', '/small/draft', { files: draft, revision: 0 });
  const tried = ask('POST', '/small/try', { inputs: ['1'] });
  expect(await pressUntil(service, tried)).toBeGreaterThan(0);
  expect(await tried).toMatchObject({ status: 400, body: { message: expect.stringMatching(/takes too long\.$/) } });
});

test('callers press keys while a large draft is checked, tried and published', async () => {
  await using service = await startService('sqlite');
  const ask = createOperator(service);
  const long = (i: number) => `${Array.from({ length: 100 }, (_, at) => `a${at % 7}`).join(' + ')} + ${i}`;
  const sums = Array.from(
    { length: 150 },
    (_, i) => `  s${i + 1}: { kind: set, values: { t: "${long(i)}" }, to: ${i < 149 ? `s${i + 2}` : 'page'} }\n`,
  ).join('');
  const first = `  s0: { kind: set, values: { ${Array.from({ length: 7 }, (_, i) => `a${i}: "1"`).join(', ')} }, to: s1 }\n`;
  const draft = withStates(`${first}${sums}`, '');
  expect(draft['program.yaml'].length).toBeGreaterThan(70_000);
  await ask('PUT', '/small/draft', { files: draft, revision: 0 });
  const check = ask('POST', '/small/check', {});
  const pressed = await pressUntil(service, check);
  expect(await check).toMatchObject({ status: 200, body: { ok: true } });
  expect(pressed).toBeGreaterThan(5);
  const publish = ask('POST', '/small/publish', {});
  expect(await pressUntil(service, publish)).toBeGreaterThan(5);
  expect(await publish).toMatchObject({ status: 200 });
});
