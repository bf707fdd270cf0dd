// A telecom gateway sends all inputs of a call again with each one, 182 characters at most: calls end before that, and are
// continued at the next dial.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startAgent } from './agent-fixture.ts';
import { startService, type TestService } from './service-fixture.ts';
import { writeProgram } from './write-program.ts';

const full = 'This call can take no more input. Please dial again to continue where you stopped.';

/** Types what `next` gives for each screen until the call ends; the screens. */
async function call(service: TestService, id: string, inputs: Iterable<string>, fields = {}): Promise<string[]> {
  const screens: string[] = [await service.say(id, '', fields)];
  let text = '';
  for (const input of inputs) {
    text = text === '' ? input : `${text}*${input}`;
    const screen = await service.say(id, text, fields);
    screens.push(screen);
    expect(screen).not.toContain('Invalid input');
    if (screen.startsWith('END')) break;
  }
  return screens;
}

function* questions() {
  yield '4';
  for (let i = 0; ; i++) {
    yield `How deep is well ${i}?`;
    yield '1';
  }
}

test('a conversation with the assistant ends with a notice in time and continues at the next dial', async () => {
  await using agent = await startAgent();
  agent.answer = async (message) => `Answer to ${message}`;
  await using service = await startService('sqlite', { AGENT_URL: agent.url });
  const screens = await call(service, 'a', questions());
  expect(screens.at(-1)).toBe(`END ${full}`);
  expect(screens.at(-2)).toMatch(/^CON Answer to/);
  expect(screens.some((screen) => /^CON Room for \d+ more characters in this call\.\nWhat would/.test(screen))).toBe(
    true,
  );
  const asked = agent.asked.length;
  expect(asked).toBeGreaterThan(3);
  const next = await call(service, 'b', ['5', 'And how wide?', '0']);
  expect(next[0]).toContain('5. Continue where you stopped');
  expect(next[1]).toMatch(/^CON What would you like to ask\?/);
  expect(next[2]).toMatch(/^CON Answer to And how wide\?/);
  expect(agent.asked).toHaveLength(asked + 1);
  // Continued once, it is not offered again.
  expect(await service.say('c', '')).not.toContain('Continue');
});

test('menus, PINs and the text of a last page', async () => {
  await using service = await startService();
  await service.say('r', '2*1*Ana*4071*4071');
  const lost = await call(service, 'a', Array<string>(100).fill('9'));
  expect(lost.at(-1)).toBe(`END Not a choice. Please try again.\n${full}`);
  expect(await service.say('b', '')).not.toContain('Continue');
  // The last thing that fits is the PIN of a report: its reference is shown, and the report is filed once.
  const filed = await call(service, 'c', ['3', '1', '120', ...Array<string>(84).fill('x'), '4071']);
  expect(filed.at(-1)).toMatch(/^END Your report is filed\.\nTrees planted \(number\): 120\nReference: \w{9}/);
  const { total } = (await (await service.get('/api/ussd/reports')).json()) as { total: number };
  expect(total).toBe(1);
  // A PIN is not kept: it is asked for again.
  const pin = await call(service, 'd', ['3', '1', '75', ...Array<string>(90).fill('x')]);
  expect(pin.at(-1)).toBe(`END A PIN has 4 to 6 digits.\n${full}`);
  const again = await call(service, 'e', ['5', '4071']);
  expect(again[1]).toMatch(/^CON Trees planted \(number\): 75\nEnter your PIN to send this report\./);
  expect(again[2]).toMatch(/^CON Your report is filed\./);
  const long = `1*${'9*'.repeat(90)}99`;
  expect(await service.say('f', long.slice(0, 182))).not.toContain('Invalid input');
  expect(await service.say('g', long.slice(0, 183))).toBe('END Invalid input. Please try again.');
});

const ownOption = ", { text: main.resume, to: '@resume', when: resumable }";

test.each([ownOption, ''])('a form is filled in over as many calls as it takes, with the option %j', async (option) => {
  const short = readFileSync(join(import.meta.dirname, 'forms/short.xml'), 'utf8');
  await using dir = await writeProgram({
    'program.yaml': `
name: survey
codes: ["*384*9#"]
extends: palaver
languages: [en]
start: home
states:
  home:
    kind: menu
    text: home.title
    options: [{ text: home.begin, to: survey }${option}]
  survey: { kind: form, form: forms/short.xml, to: thanks }
  thanks: { kind: page, text: home.thanks }
`,
    'locales/en.yaml': 'home: { title: Survey, begin: Begin, thanks: Thanks. }\n',
    'forms/short.xml': short,
  });
  await using service = await startService('sqlite', { USSD_PROGRAMS: dir.path });
  const own = { serviceCode: '*384*9#' };
  const first = await call(service, 'a', [...Array<string>(68).fill('9'), '1', 'Ana', '3', '1'], own);
  expect(first.at(-1)).toBe(`END ${full}`);
  const second = await call(service, 'b', ['2'], own);
  expect(second[0]).toContain('2. Continue where you stopped');
  expect(second[1]).toMatch(/^CON Child 1\nFirst name\?/);
  const third = await call(service, 'c', ['2', 'Ben', '2', '1'], own);
  expect(third.at(-1)).toMatch(/^CON Thanks\./);
  const { submissions } = (await (await service.get('/api/ussd/submissions')).json()) as {
    submissions: { answers: Record<string, string> }[];
  };
  expect(submissions.map(({ answers }) => Object.values(answers))).toEqual([
    expect.arrayContaining(['Ana', '3', 'Ben']),
  ]);
});
