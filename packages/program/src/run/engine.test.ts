import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkMenu } from '../check/check-program.ts';
import { type Dialogue, type Input, type SecretRef, type Step, toInput } from '../model/dialogue.ts';
import type { Menu, Registry } from '../model/menu.ts';
import { parseLocale, parseMenu } from '../parse/parse-menu.ts';
import { renderScreen } from '../show/render.ts';
import { type Opening, openDialogue, takeInput, takeResult, toFormSnapshot } from './engine.ts';

const registry: Registry = {
  actions: { save: { outcomes: ['saved', 'again'], finishes: true }, look: { outcomes: ['seen'], finishes: false } },
  validators: {
    word: {
      hints: ['hint.word'],
      check: (input) =>
        /^[a-z]+$/.test(input) ? { ok: true, value: input.toUpperCase() } : { ok: false, hint: 'hint.word' },
    },
    same: {
      hints: ['hint.word'],
      check: (input, { answer }) =>
        input === answer('secret') ? { ok: true, value: input } : { ok: false, hint: 'hint.word' },
    },
  },
  texts: [],
};

const dull = 'All work and no play makes Jack a dull boy. '.repeat(12).trim();

const source = `
start: top
exit: bye
states:
  top:
    kind: menu
    text: top
    options:
      - { key: 1, text: form, to: color }
      - { key: 2, text: look, to: look }
      - { key: 3, text: read, to: long }
      - { key: 4, text: hidden, to: long, when: authenticated }
      - { key: 5, text: resume, to: '@resume', when: resumable }
  color:
    kind: menu
    text: color
    options:
      - { key: 1, text: red, to: word, set: { color: red } }
      - { key: 2, text: blue, to: word, set: { color: blue } }
  word: { kind: prompt, text: word, validator: word, save: word, to: secret }
  secret: { kind: prompt, text: secret, validator: word, save: secret, secret: true, to: repeat }
  repeat: { kind: prompt, text: repeat, validator: same, save: repeated, secret: true, to: save }
  save: { kind: action, action: save, outcomes: { saved: done, again: { to: secret, hint: again } } }
  done: { kind: page, text: done }
  look: { kind: action, action: look, outcomes: { seen: seen } }
  seen: { kind: page, text: seen, options: [{ key: 1, text: form, to: color }] }
  long: { kind: page, text: long }
  bye: { kind: end, text: bye }
`;
const texts = `
common: { more: More, back: Back, exit: Exit }
hint: { empty: Say something., choice: No such choice., word: Small letters only. }
top: Top
form: Form
look: Look
read: Read
hidden: Hidden
resume: Go on
color: Which colour?
red: Red
blue: Blue
word: A word?
secret: A secret?
repeat: Again?
again: Not good.
done: '{color.label} {word} saved as {id}'
seen: Seen {what}
long: "${dull}"
bye: Bye
`;

function load(): Menu {
  const check = checkMenu(
    { files: [parseMenu('m.yaml', source)], locales: [parseLocale('en.yaml', 'en', texts)] },
    registry,
  );
  if (!check.ok) throw new Error(JSON.stringify(check.faults));
  return check.menu;
}

const menu = load();

/** Plays inputs; an action answers with the result given for it. */
function play(
  inputs: string[],
  results: Record<string, Parameters<typeof takeResult>[2]> = {},
  opening: Opening = { language: 'en' },
): Step {
  let step = openDialogue(menu, opening);
  for (const part of inputs.keys()) {
    step = takeInput(menu, step.dialogue, toInput(inputs, part));
    while (step.pending) step = takeResult(menu, step.dialogue, results[step.pending.action] ?? { outcome: 'seen' });
  }
  return step;
}
const shown = (step: Step) => renderScreen(menu, step.dialogue).text;
const saved = { save: { outcome: 'saved', values: { id: '77' } } };

describe('the menu engine', () => {
  test('shows menus with the way back and the way out', () => {
    expect(shown(play([]))).toBe('Top\n1. Form\n2. Look\n3. Read\n*. Exit');
    expect(shown(play(['1']))).toBe('Which colour?\n1. Red\n2. Blue\n0. Back\n*. Exit');
  });

  test('an unknown choice and an empty input show the same screen with a hint, and go nowhere', () => {
    expect(shown(play(['1', '9']))).toBe('No such choice.\nWhich colour?\n1. Red\n2. Blue\n0. Back\n*. Exit');
    expect(shown(play(['1', '']))).toBe('Say something.\nWhich colour?\n1. Red\n2. Blue\n0. Back\n*. Exit');
    expect(shown(play(['1', '9', '1']))).toBe('A word?\n0. Back\n*. Exit');
    expect(shown(play(['0']))).toContain('No such choice.');
  });

  test('a prompt saves what its validator makes of the answer, and asks again when it refuses', () => {
    expect(shown(play(['1', '1', 'X']))).toBe('Small letters only.\nA word?\n0. Back\n*. Exit');
    const { dialogue } = play(['1', '2', 'tree']);
    expect(dialogue.values).toEqual({ color: 'blue', 'color.label': 'blue', word: 'TREE' });
  });

  test('a secret answer is kept as its place only, and validators can still see it', () => {
    const { dialogue } = play(['1', '1', 'tree', 'hush']);
    expect(dialogue.secrets).toEqual({ secret: 3 });
    expect(JSON.stringify(dialogue)).not.toContain('hush');
    expect(shown(play(['1', '1', 'tree', 'hush', 'other']))).toContain('Small letters only.');
    expect(play(['1', '1', 'tree', 'hush', 'hush'], saved).dialogue.state).toBe('done');
  });

  test('a host keeps secrets in its own way: the dialogue survives as JSON and holds only references', () => {
    const kept = new Map<unknown, string>();
    const type = (value: string): Input => {
      const id = `row ${kept.size}`;
      kept.set(id, value);
      const ref = { id } as unknown as SecretRef;
      return { value, ref, reveal: (other) => kept.get((other as unknown as { id: string }).id) };
    };
    let json = JSON.stringify(openDialogue(menu, { language: 'en' }).dialogue);
    for (const value of ['1', '1', 'tree', 'hush'])
      json = JSON.stringify(takeInput(menu, JSON.parse(json), type(value)).dialogue);
    expect(json).toContain('"secrets":{"secret":{"id":"row 3"}}');
    expect(json).not.toContain('hush');
    expect(takeInput(menu, JSON.parse(json), type('other')).pending).toBeUndefined();
    expect(takeInput(menu, JSON.parse(json), type('hush')).pending?.action).toBe('save');
  });

  test('back leads through the screens as they came', () => {
    expect(play(['1', '1', 'tree', '0']).dialogue.state).toBe('word');
    expect(play(['1', '1', 'tree', '0', '0']).dialogue.state).toBe('color');
    expect(play(['1', '1', 'tree', '0', '0', '0']).dialogue).toEqual(openDialogue(menu, { language: 'en' }).dialogue);
  });

  test('after a finished action, back leads to the menu above the form, never into the action', () => {
    const done = play(['1', '1', 'tree', 'hush', 'hush'], saved);
    expect(shown(done)).toBe('Red TREE saved as 77\n0. Back\n*. Exit');
    expect(done.dialogue.secrets).toEqual({});
    expect(play(['1', '1', 'tree', 'hush', 'hush', '0'], saved).dialogue.state).toBe('top');
  });

  test('an outcome may lead back to a question, with a hint', () => {
    const again = play(['1', '1', 'tree', 'hush', 'hush'], { save: { outcome: 'again' } });
    expect(shown(again)).toBe('Not good.\nA secret?\n0. Back\n*. Exit');
    expect(again.dialogue.stack).toEqual(['top', 'color', 'word']);
  });

  test('an action that only looks leaves the way back as it was', () => {
    const step = play(['2'], { look: { outcome: 'seen', values: { what: 'it' } } });
    expect(shown(step)).toBe('Seen it\n1. Form\n0. Back\n*. Exit');
    expect(play(['2', '1', '0']).dialogue.state).toBe('seen');
    expect(play(['2', '1', '0', '0']).dialogue.state).toBe('top');
  });

  test('options follow their conditions', () => {
    const { dialogue } = play(['2', '0'], { look: { outcome: 'seen', account: 'a1' } });
    expect(renderScreen(menu, dialogue).text).toContain('4. Hidden');
    expect(shown(play(['4']))).toContain('No such choice.');
  });

  test('long text is paged; back leads to the page before, and then to the screen before', () => {
    const first = play(['3']);
    expect(shown(first)).toMatch(/98\. More\n0\. Back\n\*\. Exit$/);
    const second = play(['3', '98']);
    expect(shown(second)).not.toBe(shown(first));
    expect(play(['3', '98', '0']).dialogue).toEqual(first.dialogue);
    expect(play(['3', '98', '0', '0']).dialogue.state).toBe('top');
    expect(shown(play(['98']))).toContain('No such choice.');
  });

  test('a wrong input on a later page shows that page again with the hint, and loses nothing behind it', () => {
    const words = (inputs: string[]) => shown(play(inputs)).replace(/\n(98\. More\n)?0\. Back\n\*\. Exit$/, '');
    const wrong = play(['3', '98', '9']);
    expect(shown(wrong)).toMatch(/^No such choice\.\n/);
    const kept = words(['3', '98', '9']).replace('No such choice.\n', '');
    expect(words(['3', '98']).startsWith(kept)).toBe(true);
    expect([words(['3']), kept, words(['3', '98', '9', '98']), words(['3', '98', '9', '98', '98'])].join(' ')).toBe(
      dull,
    );
    expect(play(['3', '98', '9', '0']).dialogue.page).toBe(0);
    expect(play(['3', '98', '9', '0', '0']).dialogue).toEqual(openDialogue(menu, { language: 'en' }).dialogue);
  });

  test('the choices of a page can be taken once they are shown', () => {
    const look = { look: { outcome: 'seen', values: { what: dull.slice(0, 200) } } };
    expect(shown(play(['2'], look))).not.toContain('1. Form');
    expect(shown(play(['2', '1'], look))).toMatch(/^No such choice\.\nSeen All work/);
    expect(shown(play(['2', '98'], look))).toContain('1. Form');
    expect(play(['2', '98', '1'], look).dialogue.state).toBe('color');
    expect(play(['2', '98', '9', '1'], look).dialogue.state).toBe('color');
  });

  test('exit works from every screen', () => {
    for (const inputs of [[], ['1'], ['1', '1'], ['1', '1', 'a'], ['3', '98'], ['2']]) {
      const step = play([...inputs, '*']);
      expect([step.ended, shown(step)]).toEqual([true, 'Bye']);
    }
  });

  test('a result that is not declared is an error, not a way on', () => {
    expect(() => play(['2'], { look: { outcome: 'nonsense' } })).toThrow('undeclared outcome nonsense');
  });

  test('a state that a new menu file no longer has leads to the main menu', () => {
    const { dialogue } = play(['1']);
    const input = toInput(['1'], 0);
    expect(takeInput(menu, { ...dialogue, state: 'gone' }, input).dialogue.state).toBe('top');
  });
});

describe('an unfinished form', () => {
  const snapshot = (inputs: string[]) => toFormSnapshot(menu, play(inputs).dialogue);

  test('continues at the last unanswered question, secrets are asked again', () => {
    expect(snapshot(['1', '1'])).toMatchObject({ state: 'word', stack: ['top', 'color'] });
    expect(snapshot(['1', '1', 'tree', 'hush'])).toMatchObject({ state: 'secret', stack: ['top', 'color', 'word'] });
    const resume = snapshot(['1', '1', 'tree', 'hush']);
    if (!resume) throw new Error('no form');
    const opening = { language: 'en', resume };
    expect(shown(play([], {}, opening))).toContain('5. Go on');
    expect(shown(play(['5', 'mum', 'mum'], saved, opening))).toContain('Red TREE saved');
    expect(play(['5', 'mum', 'mum', '0'], saved, opening).dialogue.resume).toBeUndefined();
  });

  test('does not exist when nothing was answered, or when it is finished', () => {
    expect(snapshot([])).toBeUndefined();
    expect(snapshot(['1'])).toBeUndefined();
    expect(snapshot(['3', '98'])).toBeUndefined();
    expect(toFormSnapshot(menu, play(['1', '1', 'tree', 'hush', 'hush'], saved).dialogue)).toBeUndefined();
  });

  test('of a menu that has changed since is not offered', () => {
    const opening = { language: 'en', resume: { state: 'gone', stack: ['top'], values: {} } };
    expect(shown(play([], {}, opening))).not.toContain('Go on');
  });
});

test('any inputs lead to a screen that fits, and the way back always ends at the main menu', () => {
  const input = fc.oneof(fc.constantFrom('0', '1', '2', '3', '98', '', 'tree', 'hush'), fc.string({ maxLength: 5 }));
  fc.assert(
    fc.property(fc.array(input, { maxLength: 30 }), fc.constantFrom('saved', 'again'), (inputs, outcome) => {
      let { dialogue, ended }: { dialogue: Dialogue; ended: boolean } = play(inputs, { save: { outcome } });
      expect(renderScreen(menu, dialogue).text.length).toBeLessThanOrEqual(182);
      expect(dialogue.stack.length).toBeLessThan(menu.states.size);
      for (let i = 0; i < 60 && !ended; i++) {
        ({ dialogue, ended } = takeInput(menu, dialogue, toInput(['0'], 0)));
      }
      expect(ended || dialogue.state === 'top').toBe(true);
    }),
  );
});
