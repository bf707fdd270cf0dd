import { describe, expect, test } from 'vitest';
import { checkMenu } from '../check/check-program.ts';
import { type Step, toInput } from '../model/dialogue.ts';
import type { Registry } from '../model/menu.ts';
import { parseLocale, parseMenu } from '../parse/parse-menu.ts';
import { renderScreen } from '../show/render.ts';
import { type Opening, openDialogue, takeInput, takeResult, toFormSnapshot } from './engine.ts';

const registry: Registry = {
  actions: {
    logIn: { outcomes: ['in', 'wrong', 'locked'], finishes: true },
    send: { outcomes: ['sent'], finishes: true },
  },
  validators: {
    word: {
      hints: [],
      check: (input) => (/^\w{2,}$/.test(input) ? { ok: true, value: input } : { ok: false, hint: 'hint.empty' }),
    },
  },
  texts: [],
};
const source = `
start: home
exit: bye
login: askPin
states:
  home:
    kind: menu
    text: home
    options:
      - { key: 1, text: log, to: askPin, when: anonymous }
      - { key: 2, text: form, to: place, when: authenticated }
      - { key: 3, text: own, to: own }
      - { key: 4, text: resume, to: '@resume', when: resumable }
  askPin: { kind: prompt, text: pin, validator: word, save: pin, secret: true, to: logIn }
  logIn: { kind: action, action: logIn, outcomes: { in: { to: home, hint: welcome }, wrong: { to: askPin, hint: wrong }, locked: { to: home, hint: locked } } }
  place: { kind: prompt, text: place, validator: word, save: place, to: size }
  size: { kind: prompt, text: size, validator: word, save: size, to: send }
  send: { kind: action, action: send, outcomes: { sent: sent } }
  sent: { kind: page, text: sent }
  own: { kind: page, text: ownPage, requires: authenticated }
  bye: { kind: end, text: bye }
`;
const texts = `
common: { more: More, back: Back, exit: Exit }
hint: { empty: Say something., choice: No such choice. }
home: Home
log: Log in
form: Form
own: My page
ownPage: Yours alone
resume: Go on
pin: PIN?
welcome: Welcome
wrong: Wrong
locked: Locked
place: Where?
size: '{place} how large?'
sent: 'Sent {place}'
bye: Bye
`;
const load = (menuSource: string) =>
  checkMenu({ files: [parseMenu('m.yaml', menuSource)], locales: [parseLocale('en.yaml', 'en', texts)] }, registry);
const check = load(source);
if (!check.ok) throw new Error(JSON.stringify(check.faults));
const { menu } = check;

/** The PIN `right` logs in, `locked` is refused for a time, anything else is wrong. */
function play(inputs: string[], opening: Opening = { language: 'en' }): Step {
  let step = openDialogue(menu, opening);
  for (const part of inputs.keys()) {
    step = takeInput(menu, step.dialogue, toInput(inputs, part));
    while (step.pending) {
      const ref = step.dialogue.secrets.pin;
      const pin = ref && toInput(inputs, part).reveal(ref);
      if (step.pending.action === 'send') step = takeResult(menu, step.dialogue, { outcome: 'sent' });
      else if (pin === 'right') step = takeResult(menu, step.dialogue, { outcome: 'in', account: 'a1' });
      else step = takeResult(menu, step.dialogue, { outcome: pin === 'locked' ? 'locked' : 'wrong' });
    }
  }
  return step;
}
const shown = (step: Step) => renderScreen(menu, step.dialogue).text;

describe('a state that requires a login', () => {
  test('asks for it first, and is shown once it is done', () => {
    expect(shown(play(['3']))).toBe('PIN?\n0. Back\n*. Exit');
    expect(shown(play(['3', 'no']))).toBe('Wrong\nPIN?\n0. Back\n*. Exit');
    expect(shown(play(['3', 'no', 'right']))).toBe('Yours alone\n0. Back\n*. Exit');
    expect(shown(play(['3', 'right', '0']))).toMatch(/^Home\n2\. Form/);
  });

  test('asks once for each session', () => {
    expect(shown(play(['1', 'right', '3']))).toBe('Yours alone\n0. Back\n*. Exit');
    expect(shown(play(['3', 'right', '0', '3']))).toBe('Yours alone\n0. Back\n*. Exit');
  });

  test('is forgotten when the caller turns back or is locked out', () => {
    expect(shown(play(['3', '0']))).toMatch(/^Home\n1\. Log in/);
    expect(shown(play(['3', '0', '1', 'right']))).toMatch(/^Welcome\nHome\n/);
    expect(shown(play(['3', 'locked']))).toMatch(/^Locked\nHome\n1\. Log in/);
    expect(shown(play(['3', 'locked', '1', 'right']))).toMatch(/^Welcome\nHome\n/);
  });

  test('needs a menu that names its login', () => {
    const faults = (changed: string) => {
      const result = load(changed);
      return result.ok ? [] : result.faults.map(({ message }) => message);
    };
    expect(faults(source.replace('login: askPin\n', ''))).toEqual([
      'requires a login, and no file names the login state: add `login` to program.yaml',
    ]);
    expect(faults(source.replace('login: askPin\n', 'login: nowhere\n'))).toEqual([
      'login must name a state; there is no state nowhere',
    ]);
  });
});

describe('a form that was left unfinished behind a login', () => {
  const resume = toFormSnapshot(menu, play(['1', 'right', '2', 'Lake']).dialogue);
  if (!resume) throw new Error('no form');
  const opening = { language: 'en', resume };

  test('continues after the login only, and shows nothing of itself before', () => {
    expect(shown(play([], opening))).toContain('4. Go on');
    expect(shown(play(['4'], opening))).toBe('PIN?\n0. Back\n*. Exit');
    expect(shown(play(['4', 'no'], opening))).toBe('Wrong\nPIN?\n0. Back\n*. Exit');
    const taken = play(['4', 'right'], opening);
    expect(shown(taken)).toBe('Lake how large?\n0. Back\n*. Exit');
    expect(taken.dialogue.account).toBe('a1');
    expect(shown(play(['4', 'right', 'big'], opening))).toBe('Sent Lake\n0. Back\n*. Exit');
  });

  test('is still there for a caller who logs in first', () => {
    expect(shown(play(['1', 'right', '4'], opening))).toBe('Lake how large?\n0. Back\n*. Exit');
  });
});
