import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { playProgram } from './index.ts';

const files = {
  'program.yaml': `
name: farm
start: home
exit: bye
states:
  home:
    kind: menu
    text: home
    options: [{ text: sell, to: kilos }, { text: terms, to: terms }]
  kilos: { kind: prompt, text: kilos, type: integer, save: kilos, to: keep }
  keep: { kind: action, sms: { text: offer }, outcomes: { queued: offer, refused: bye } }
  offer: { kind: page, text: offer }
  terms: { kind: page, text: long }
  bye: { kind: end, text: bye }
`,
  'locales/en.yaml': `
common: { more: More, back: Back, exit: Exit }
hint: { empty: Please answer., choice: Please choose., integer: A whole number. }
home: Farm line
sell: Sell
terms: Terms
kilos: How many?
offer: We take {kilos}.
long: ${'Bring it on Monday to our gate. '.repeat(12)}
bye: Goodbye.
`,
};

test('a program is dialled, answered and left without a service', () => {
  const farm = playProgram(files);
  expect(farm.open()).toEqual({ text: 'Farm line\n1. Sell\n2. Terms\n*. Exit', ended: false });
  expect(farm.press('1').text).toBe('How many?\n00. Back\n*. Exit');
  expect(farm.press('x').text).toMatch(/^A whole number\.\nHow many\?/);
  expect(farm.press('0').text).toMatch(/^We take 0\./);
  expect(farm.press('*')).toEqual({ text: 'Goodbye.', ended: true });
  expect(playProgram(files, { perform: () => ({ outcome: 'refused' }) }).open().ended).toBe(false);
  expect(() => playProgram({ ...files, 'locales/en.yaml': 'bye: Goodbye.' })).toThrow(
    /program\.yaml:\d+: state home: the text home is missing in en/,
  );
});

test('the same program on other surfaces: lines, keys and buttons', () => {
  const sms = playProgram(files, {
    surface: {
      counts: 'plain',
      characters: 300,
      lines: 4,
      keys: { back: 'B', more: 'M', exit: 'X' },
      choices: 'numbered',
    },
  });
  sms.open();
  expect(sms.press('1').text).toBe('How many?\nB. Back\nX. Exit');
  expect(sms.press('B').text).toMatch(/^Farm line/);
  expect(sms.press('2').text).toMatch(/M\. More\nB\. Back\nX\. Exit$/);
  expect(sms.press('M').text).not.toContain('More');
  expect(sms.press('X').ended).toBe(true);
  const chat = playProgram(files, { surface: { counts: 'plain', characters: 1_000, choices: 'buttons' } });
  expect(chat.open()).toEqual({
    text: 'Farm line',
    ended: false,
    buttons: [
      { key: '1', label: 'Sell' },
      { key: '2', label: 'Terms' },
      { key: '*', label: 'Exit' },
    ],
  });
});

test('the example of the README is one that runs', async () => {
  const text = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const [, code = ''] = /```ts\n([\s\S]*?)```/.exec(text) ?? [];
  const shown: string[] = [];
  const body = code.replace(/^import .*\n/, '');
  new Function('playProgram', 'console', body)(playProgram, { log: (line: string) => shown.push(line) });
  expect(shown).toEqual(['Farm line\n1. Sell maize\n*. Exit', 'We take 40 kilos.\n0. Back\n*. Exit']);
});
