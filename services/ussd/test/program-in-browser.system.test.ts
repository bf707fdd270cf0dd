// One program of sixty states, dialled at the service and played in a page of a browser by the package alone.
import { fileURLToPath } from 'node:url';
import { launchBrowser } from '@palaver/test-kit';
import { build, type Rolldown } from 'vite';
import { expect, it } from 'vitest';
import { startService } from './service-fixture.ts';
import { writeProgram } from './write-program.ts';

const count = 11;
const groups = Array.from({ length: count }, (_, i) => i);
const next = (i: number) => (i + 1 < count ? `ask${i + 1}` : 'list');
/** Of each group: a question, a computation, a branch, a menu and a page. */
const states = groups.map(
  (i) => `  ask${i}: { kind: prompt, text: ask.a${i}, type: integer, min: 0, max: 100, save: a${i}, to: add${i} }
  add${i}: { kind: set, values: { s${i}: a${i} * 2 + 1 }, to: way${i} }
  way${i}: { kind: branch, when: [{ that: s${i} > 10, to: pick${i} }], else: page${i} }
  pick${i}: { kind: menu, text: pick.p${i}, options: [{ text: further, to: ${next(i)} }, { text: read, to: page${i} }] }
  page${i}: { kind: page, text: page.p${i}, options: [{ text: further, to: ${next(i)} }] }`,
);
const files = {
  'program.yaml': `name: sixty
codes: ["*384*60#"]
languages: [en]
start: home
exit: bye
states:
  home: { kind: menu, text: home, options: [{ text: further, to: ask0 }] }
${states.join('\n')}
  list: { kind: menu, text: list, from: { csv: data/crops.csv, text: crop, save: { crop: crop } }, to: flow }
  flow: { kind: call, flow: inner, to: done }
  inner: { kind: page, text: inner, options: [{ text: further, to: leave }] }
  leave: { kind: return }
  done: { kind: page, text: done }
  bye: { kind: end, text: bye }
`,
  'data/crops.csv': `crop\n${groups.map((i) => `Crop ${i}`).join('\n')}\n`,
  'locales/en.yaml': `home: Sixty
further: Further
read: Read
list: Which crop?
inner: You chose {crop}.
done: The sum is {s0}.
bye: Goodbye.
main: { expired: The call has ended. }
common: { more: More, back: Back, exit: Exit, search: Or type a name. }
hint: { empty: Please answer., choice: Please choose., integer: A number., range: '{question.min} to {question.max}.', noMatch: No match. }
ask:
${groups.map((i) => `  a${i}: Question ${i}?`).join('\n')}
pick:
${groups.map((i) => `  p${i}: "{a${i}} gives {s${i}}"`).join('\n')}
page:
${groups.map((i) => `  p${i}: "Page ${i}: ${'long words about this page '.repeat(9)}"`).join('\n')}
`,
};

/** With wrong answers, Back, More, a search, a list and a sub-flow. */
const inputs = [
  ...['1', '500', '7', '2', '98', '98', '0', '98', '1'],
  ...groups.slice(1).flatMap((i) => (i % 2 ? ['50', '1'] : ['x', '90', '9', '1'])),
  ...['crop 1', '2', '1', '*'],
];

it('the same inputs give the same screens by USSD and in a browser', async () => {
  await using dir = await writeProgram(files);
  await using service = await startService('sqlite', { USSD_PROGRAMS: dir.path });
  const dialled: string[] = [];
  // A call has room for 182 characters, so inputs come one by one.
  const text: string[] = [];
  dialled.push(await service.say('sixty', '', { serviceCode: '*384*60#' }));
  for (const input of inputs) {
    text.push(input);
    dialled.push(await service.say('sixty', text.join('*'), { serviceCode: '*384*60#' }));
  }

  const script = await bundle();
  expect(script).not.toMatch(/from\s*["']node:|require\(/);
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    await page.addScriptTag({ type: 'module', content: `${script};\n` });
    await page.waitForFunction('globalThis.playProgram !== undefined');
    const played = await page.evaluate(
      ({ files, inputs }) => {
        const { playProgram } = globalThis as never as typeof import('@palaver/program');
        const program = playProgram(files);
        const states = program.menu.states.size;
        const screens = [program.open(), ...inputs.map((input) => program.press(input))];
        return { states, screens: screens.map(({ text, ended }) => `${ended ? 'END' : 'CON'} ${text}`) };
      },
      { files, inputs },
    );
    expect(played.states).toBeGreaterThanOrEqual(60);
    expect(played.screens).toEqual(dialled);
    expect(played.screens.at(-1)).toBe('END Goodbye.');
  } finally {
    await browser.close();
  }
});

async function bundle(): Promise<string> {
  const entry = fileURLToPath(import.meta.resolve('@palaver/program'));
  const [output] = (await build({
    configFile: false,
    logLevel: 'error',
    build: { write: false, lib: { entry, formats: ['es'], fileName: 'program' } },
  })) as Rolldown.RolldownOutput[];
  const code = output?.output[0].code ?? '';
  return code.replace(/export\s*\{([^}]*)\};?\s*$/, (_, names: string) => {
    const [, local = ''] = /(\w+) as playProgram/.exec(names) ?? [undefined, 'playProgram'];
    return `globalThis.playProgram = ${local};`;
  });
}
