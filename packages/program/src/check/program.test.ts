// What a program's designer writes: typed questions, conditions, computed values, sub-flows and loops.
import { describe, expect, test } from 'vitest';
import { check, faultsOf, load, play } from '../../test/play-program.ts';
import { formatFault } from '../values/fault.ts';
import { checkProgram } from './check-program.ts';

const oneQuestion = (question: string) => `
  home: { kind: menu, text: home, options: [{ text: go, to: ask }] }
  ask: { kind: prompt, text: ask, ${question}, save: x, to: done }
  done: { kind: page, text: done }
  bye: { kind: end, text: bye }
`;
const questionTexts = `home: Home\ngo: Go\nask: Ask\ndone: 'Got {x}'\nbye: Bye\nown: Own hint.\nlimited: 'At least {question.min}.'\na: Alpha\nb: Beta\nc: Gamma\n`;

describe('typed questions', () => {
  test.each([
    ['type: text', 'hello  there', 'Got hello there'],
    ['type: text, length: 3', 'four', '1 to 3 characters.'],
    ['type: text, length: { min: 3 }', 'ab', '3 to 160 characters.'],
    ['type: text, pattern: "[A-Z]{2}[0-9]+"', 'AB12', 'Got AB12'],
    ['type: text, pattern: "[A-Z]{2}[0-9]+", hint: own', 'ab12', 'Own hint.'],
    ['type: text, pattern: "(a+)+b"', `${'a'.repeat(150)}c`, 'A text.'],
    ['type: text, pattern: "a{1,160}"', 'aa', 'Got aa'],
    ['type: integer', '0012', 'Got 12'],
    ['type: integer', '1.5', 'A whole number.'],
    ['type: integer, min: 1, max: 10', '11', '1 to 10.'],
    ['type: integer, max: 10', '11', 'Up to 10.'],
    ['type: integer, max: 10', '1.5', 'A whole number.'],
    ['type: integer, min: -3', '-4', 'From -3.'],
    ['type: integer, min: 5', '5', 'Got 5'],
    ['type: decimal, min: 0.5', '0.49', 'From 0.5.'],
    ['type: decimal, min: 0.5', '0,5', 'Got 0.5'],
    ['type: decimal, max: 99.95', '99.96', 'Up to 99.95.'],
    ['type: decimal, min: 0.5, max: 2.25', '3', '0.5 to 2.25.'],
    ['type: decimal, min: 0, check: { that: answer > 0.0, hint: own }', '0', 'Own hint.'],
    ['type: integer, min: 5, hint: limited', '4', 'At least 5.'],
    ['type: integer', '0', 'Got 0'],
    ['type: decimal', '2,50', 'Got 2.5'],
    ['type: decimal, min: 50, max: 100, check: { that: answer % 10 == 0, hint: own }', '55', 'Own hint.'],
    ['type: decimal, min: 50, max: 100, check: { that: answer % 10 == 0, hint: own }', '60', 'Got 60'],
    ['type: date', '31122026', 'Got 2026-12-31'],
    ['type: date', '1/2/2026', 'Got 2026-02-01'],
    ['type: date', '30022026', 'A date.'],
    ['type: date, max: today', '18112026', 'Until 17/11/2026.'],
    ['type: date, max: today', '17112026', 'Got 2026-11-17'],
    ['type: date, min: today', '16/11/2026', 'After 17/11/2026.'],
    ['type: date, min: 2026-01-01', '31122025', 'After 01/01/2026.'],
    ['type: date, min: 2026-01-01, max: today', '18112026', '01/01/2026 to 17/11/2026.'],
    ['type: date, min: 2026-01-01, max: 2026-12-31', '01012027', '01/01/2026 to 31/12/2026.'],
    ['type: phone', '0712 345 678', 'Got +254712345678'],
    ['type: phone', '+256712345678', 'Got +256712345678'],
    ['type: phone', '12', 'A phone.'],
    ['type: choice, options: [{ text: a, value: x1 }, { text: b, value: x2 }]', '2', 'Got x2'],
    ['type: choice, options: [{ text: a, value: x1 }, { text: b, value: x2 }]', '3', 'No choice.'],
    [
      'type: choices, options: [{ text: a, value: x1 }, { text: b, value: x2 }, { text: c, value: x3 }]',
      '1 3',
      'Got x1 x3',
    ],
    [
      'type: choices, options: [{ text: a, value: x1 }, { text: b, value: x2 }, { text: c, value: x3 }]',
      '31',
      'Got x3 x1',
    ],
    ['type: choices, max: 1, options: [{ text: a, value: x1 }, { text: b, value: x2 }]', '1 2', '1 to 1 of them.'],
    ['type: choices, min: 2, options: [{ text: a, value: x1 }, { text: b, value: x2 }]', '1', '2 to 2 of them.'],
    ['type: choices, options: [{ text: a, value: x1 }, { text: b, value: x2 }]', '3', 'Numbers.'],
    ['type: integer, optional: true', '000', 'Got '],
  ])('%s: %j gives %j', (question, input, expected) => {
    expect(play(load(oneQuestion(question), questionTexts), ['1', input]).split('\n')[0]).toBe(expected);
  });

  test('a program without the texts for limits shows the hint of the type', () => {
    const menu = load(oneQuestion('type: integer, max: 10'), questionTexts);
    const texts = new Map([...(menu.locales.get('en') ?? [])].filter(([key]) => key !== 'hint.atMost'));
    expect(play({ ...menu, locales: new Map([['en', texts]]) }, ['1', '11'])).toMatch(/^A whole number\./);
  });

  test('where 0 is an answer, Back is 00 and the screen says so', () => {
    const zero = load(oneQuestion('type: integer'), questionTexts);
    expect(play(zero, ['1'])).toContain('00. Back');
    expect(play(zero, ['1', '00'])).toMatch(/^Home/);
    const positive = load(oneQuestion('type: integer, min: 1'), questionTexts);
    expect(play(positive, ['1'])).toMatch(/\n0\. Back/);
    expect(play(positive, ['1', '0'])).toMatch(/^Home/);
  });

  test('choices are listed, an optional question can be skipped, and labels are shown', () => {
    const menu = load(
      oneQuestion('type: choices, optional: true, options: [{ text: a, value: x1 }, { text: b, value: x2 }]'),
      questionTexts.replace('{x}', '{x.label}'),
    );
    expect(play(menu, ['1'])).toBe('Ask\n1. Alpha\n2. Beta\n000. Skip\n0. Back\n*. Exit');
    expect(play(menu, ['1', '12'])).toMatch(/^Got Alpha, Beta\n/);
  });

  test.each([
    ['type: integer, validator: word', 'either a type or a validator'],
    ['type: integer, pattern: "a"', 'pattern is for texts'],
    ['type: text, pattern: "("', 'pattern: '],
    ['type: text, pattern: "[a-z]{1,161}"', 'a pattern repeats at most 160 times'],
    ['type: text, pattern: "(.{0,60}x){16}"', 'the pattern is too large'],
    ['type: integer, min: 2026-01-01', 'do not fit the type integer'],
    ['type: choice', 'options belong to the types choice and choices'],
    ['type: text, check: { that: anser == "a", hint: own }', 'there is no value anser (did you mean answer?)'],
    ['type: text, check: { that: answer > 5, hint: own }', 'text > number does not work'],
    ['type: integer, check: { that: answer + 5, hint: own }', 'is not a condition'],
    ['type: integer, check: { that: "answer >", hint: own }', 'cannot be read'],
    ['type: integer, check: { that: isOdd(answer), hint: own }', 'there is no function isOdd'],
  ])('%s is a fault: %s', (question, fault) => {
    const [first] = faultsOf(oneQuestion(question), questionTexts);
    expect(first).toMatch(/^p\/states\.yaml:4: state ask: /);
    expect(first).toContain(fault);
  });
});

test('a choice may have the conditions of the options of a menu', () => {
  const options = '{ text: a, value: x1, when: authenticated }, { text: b, value: x2, when: anonymous }';
  const menu = load(oneQuestion(`type: choice, options: [${options}]`), questionTexts);
  expect(play(menu, ['1'])).toBe('Ask\n1. Beta\n0. Back\n*. Exit');
  expect(play(menu, ['1', '1'])).toMatch(/^Got x2\n/);
});

test('a placeholder that no state gives is a fault with its line and what was meant', () => {
  const faults = faultsOf(
    oneQuestion('type: integer').replace('save: x', 'save: price'),
    questionTexts.replace('{x}', '{prise}'),
  );
  expect(faults).toEqual(['p/locales/en.yaml:7: there is no value {prise} (did you mean price?)']);
});

test.each([
  ['type: intger', 'type: must be one of text, integer, decimal, date, phone, choice, choices (did you mean integer?)'],
  ['type: integer, minn: 3', 'there is no field minn here (did you mean min?)'],
  ['type: integer, check: { that: answer > 1 }', 'check.hint is missing'],
  ['type: choice, options: five', 'options: must be a list'],
  ['type: choice, options: [{ text: a, vlaue: b }]', 'options.0.value is missing'],
])('a state with %s: %s', (question, fault) => {
  expect(faultsOf(oneQuestion(question), questionTexts)).toContain(`p/states.yaml:4: state ask: ${fault}`);
});

test('a kind that is misspelt and a field that is misspelt inside', () => {
  const states = oneQuestion('type: text').replace('{ kind: page, text: done }', '{ kind: pagee, text: done }');
  expect(faultsOf(states, questionTexts)[0]).toMatch(
    /state done: kind: must be one of menu, .* \(did you mean page\?\)$/,
  );
  const http = '{ kind: action, http: { get: "https://a.example", timout: 3s }, outcomes: { ok: 5 } }';
  expect(faultsOf(states.replace('{ kind: pagee, text: done }', http), questionTexts)).toEqual([
    'p/states.yaml:5: state done: outcomes.ok: must be a text or a record',
  ]);
  expect(faultsOf(states.replace('{ kind: pagee, text: done }', http.replace('5', 'bye')), questionTexts)).toEqual([
    'p/states.yaml:5: state done: http: there is no field timout here (did you mean timeout?)',
  ]);
});

test('with an action that may give any value, what no action gives is still a fault', () => {
  const states = (that: string) => `
  home: { kind: menu, text: home, options: [{ text: home, to: any }] }
  any: { kind: action, action: undeclared, outcomes: { done: size } }
  size: { kind: branch, when: [{ that: '${that}', to: bye }], else: home }
  bye: { kind: end, text: home }
`;
  expect(faultsOf(states('price > 5'), 'home: Home\n')).toEqual([]);
  expect(faultsOf(states('caller.phon == price'), 'home: Home\n')).toEqual([
    'p/states.yaml:5: state size: caller.phon == price: there is no value caller.phon (did you mean caller.phone?)',
  ]);
});

describe('logic', () => {
  const shop = load(
    `
  home: { kind: menu, text: home, options: [{ text: go, to: amount }, { text: calls, to: load }, { text: subs, to: call }] }
  amount: { kind: prompt, text: ask, type: integer, min: 1, save: amount, to: reason }
  reason: { kind: prompt, text: why, type: text, save: reason, when: amount >= 100, to: compute }
  compute: { kind: set, values: { fee: amount * 0.1, total: amount + fee, week: 'addDays(today, 7)' }, to: size }
  size:
    kind: branch
    when:
      - { that: amount >= 1000, to: big }
      - { that: 'amount >= 100 && reason != ""', to: middle }
    else: small
  big: { kind: page, text: big }
  middle: { kind: menu, text: middle, options: [{ text: go, to: small, when: total > 200 }, { text: back, to: home }] }
  small: { kind: page, text: small }
  load: { kind: action, action: load, outcomes: { done: loop } }
  loop: { kind: each, list: 'members.filter(m, m.active)', as: member, do: askPaid, to: summary }
  askPaid: { kind: prompt, text: paid, type: integer, save: paid, to: add }
  add: { kind: set, values: { sum: sum + paid }, to: next }
  next: { kind: return }
  summary: { kind: page, text: summary }
  call: { kind: call, flow: name, to: greet }
  name: { kind: prompt, text: name, type: text, save: name, to: city }
  city: { kind: prompt, text: city, type: text, save: city, to: next }
  greet: { kind: page, text: greet }
  bye: { kind: end, text: bye }
`,
    `home: Home
go: Go
calls: Calls
subs: Subs
ask: Ask
why: Why?
big: 'Big {total}'
middle: 'Middle {total}'
back: Home
small: 'Small {total} until {week}'
paid: 'Paid by {member.name}?'
summary: 'In all {sum}'
name: Name?
city: City?
greet: 'Hello {name} of {city}'
bye: Bye
`,
  );

  test('branches, computed values and questions that are asked only where their condition holds', () => {
    expect(play(shop, ['1', '50'])).toMatch(/^Small 55 until 2026-11-24\n/);
    expect(play(shop, ['1', '100'])).toMatch(/^Why\?/);
    expect(play(shop, ['1', '100', 'rent'])).toMatch(/^Middle 110\n2\. Home\n/);
    expect(play(shop, ['1', '300', 'rent'])).toMatch(/^Middle 330\n1\. Go\n2\. Home\n/);
    expect(play(shop, ['1', '1000', 'rent'])).toMatch(/^Big 1100\n/);
    // A value is forgotten at the start, and by a question that is not asked any longer.
    expect(play(shop, ['1', '100', 'rent', '0', '0', '50'])).toMatch(/^Small 55/);
  });

  const members = [
    {
      members: JSON.stringify([
        { name: 'Ana', active: true },
        { name: 'Ben', active: false },
        { name: 'Cy', active: true },
      ]),
    },
  ];

  test('a loop runs its states for each item of a list', () => {
    expect(play(shop, ['2'], [...members])).toMatch(/^Paid by Ana\?/);
    expect(play(shop, ['2', '5'], [...members])).toMatch(/^Paid by Cy\?/);
    expect(play(shop, ['2', '5', '7'], [...members])).toMatch(/^In all 12\n/);
    expect(play(shop, ['2', '5', '00'], [...members])).toMatch(/^Home/);
    expect(play(shop, ['2'], [{ members: '[]' }])).toMatch(/^In all \s*\n/);
  });

  test('a sub-flow returns to its caller; Back leads through it and out of it', () => {
    expect(play(shop, ['3', 'Ana', 'Kisumu'])).toMatch(/^Hello Ana of Kisumu\n/);
    expect(play(shop, ['3', 'Ana', '0'])).toMatch(/^Name\?/);
    expect(play(shop, ['3', 'Ana', '0', 'Eve', 'Kisumu'])).toMatch(/^Hello Eve of Kisumu\n/);
    expect(play(shop, ['3', 'Ana', 'Kisumu', '0'])).toMatch(/^Home/);
  });

  test('lists, forms and choices are shown only where their condition holds', () => {
    const menu = load(
      `
  home: { kind: menu, text: home, options: [{ text: go, to: amount }] }
  amount: { kind: prompt, text: ask, type: integer, min: 1, save: amount, to: load }
  load: { kind: action, action: load, outcomes: { done: member } }
  member: { kind: menu, text: who, when: amount > 10, from: { list: members, text: name, save: { member: name } }, to: size }
  size:
    kind: prompt
    text: ask
    type: choices
    options: [{ text: a, value: small, when: amount < 5 }, { text: b, value: middle }, { text: c, value: big, when: amount > 10 }]
    save: sizes
    to: done
  done: { kind: page, text: done }
  bye: { kind: end, text: bye }
`,
      `home: Home\ngo: Go\nask: Ask\nwho: Who?\na: Small\nb: Middle\nc: Big\ndone: '{sizes} {sizes.label} for {member.label}.'\nbye: Bye\n`,
    );
    expect(play(menu, ['1', '7'], [...members])).toMatch(/^Ask\n1\. Middle\n0\. Back/);
    expect(play(menu, ['1', '7', '2'], [...members])).toMatch(/^Numbers\.\nAsk\n1\. Middle\n/);
    expect(play(menu, ['1', '20'], [...members])).toMatch(/^Who\?\n1\. Ana\n/);
    expect(play(menu, ['1', '20', '3', '12'], [...members])).toMatch(/^middle big Middle, Big for Cy\.\n/);
    // What is not asked any longer is forgotten.
    expect(play(menu, ['1', '20', '3', '0', '0', '3', '12'], [...members, ...members])).toMatch(
      /^small middle Small, Middle for \.\n/,
    );
    const menuWithOptions = oneQuestion('type: text').replace('text: home,', 'text: home, when: 1 > 0,');
    expect(faultsOf(menuWithOptions, questionTexts)[0]).toContain('`when` is for a menu with `from`');
    const start = (field: string) => `
  home: { kind: menu, text: home, ${field}, from: { csv: data/a.csv, text: name }, to: bye }
  bye: { kind: end, text: bye }
`;
    for (const field of ['when: 1 > 0', 'requires: authenticated'])
      expect(faultsOf(start(field), 'home: Home\nbye: Bye\n', { 'data/a.csv': 'name\nAna\n' })).toContainEqual(
        expect.stringMatching(
          /home: the start is shown at every dial and cannot have (when|requires): put it on a later state$/,
        ),
      );
    const misspelt = oneQuestion('type: choice, options: [{ text: a, value: x1, when: tody > "2026" }]');
    expect(faultsOf(misspelt, questionTexts)[0]).toContain('there is no value tody (did you mean today?)');
  });

  test.each([
    ['round(10 / 3.0, 2)', '3.33'],
    ['round(1.005, 2)', '1.01'],
    ['round(2.5)', '3'],
    ['round(7, 2)', '7'],
    ['round(rate * 3, 1)', '0.4'],
    ['round(-0.0000000001, 2)', '0'],
  ])('%s is %s', (source, expected) => {
    const states = `
  home: { kind: menu, text: home, options: [{ text: home, to: load }] }
  load: { kind: action, action: load, outcomes: { done: set } }
  set: { kind: set, values: { x: '${source}' }, to: shown }
  shown: { kind: page, text: shown }
  bye: { kind: end, text: home }
`;
    const menu = load(states, "home: Home\nshown: '{x}'\n");
    expect(play(menu, ['1'], [{ rate: '0.12' }]).split('\n')[0]).toBe(expected);
  });

  test('states that lead in a circle without a screen are a fault', () => {
    const states = `
  home: { kind: menu, text: home, options: [{ text: home, to: one }] }
  one: { kind: branch, when: [{ that: caller.authenticated, to: bye }], else: two }
  two: { kind: set, values: { x: 1 }, to: one }
  bye: { kind: end, text: home }
`;
    expect(faultsOf(states, 'home: Home\n')).toContain(
      'p/states.yaml:4: state one: its actions lead in a circle: let one of them lead to a screen',
    );
  });
});

describe('lists', () => {
  const towns = Array.from(
    { length: 120 },
    (_, i) => `t${i},"Town ${i}, ${i % 2 ? 'West' : 'East'}",${i % 2 ? 'west' : 'east'},${i}.5`,
  );
  const data = {
    'data/towns.csv': `id,name,region,price\r\n${towns.join('\r\n')}\r\nt200,Kisumu,west,3\r\n`,
    'data/few.json': '[{ "id": "a", "name": "Ana" }, { "id": "b", "name": "Ben" }]',
  };
  const states = (where = '') => `
  home: { kind: menu, text: home, options: [{ text: go, to: town }, { text: go, to: few }, { text: go, to: load }] }
  town: { kind: menu, text: town, from: { csv: data/towns.csv, text: name, save: { town: id, price: price }${where} }, to: compute }
  compute: { kind: set, values: { double: price * 2 }, to: shown }
  shown: { kind: page, text: shown }
  few: { kind: menu, text: town, from: { json: data/few.json, text: name, save: { town: id } }, to: shown }
  load: { kind: action, action: load, outcomes: { done: member } }
  member: { kind: menu, text: town, from: { list: members, text: name, save: { town: id } }, to: shown }
  bye: { kind: end, text: home }
`;
  const texts = `home: Home\ngo: Go\ntown: Which?\nshown: '{town} {town.label} {double}'\n`;

  test('options come from a CSV or JSON file or from a list, in pages, numbered without the key of More', () => {
    const menu = load(states(), texts, data);
    expect(play(menu, ['1'])).toMatch(/^Which\?\nOr type\.\n1\. Town 0, East\n/);
    expect(play(menu, ['1', '98'])).not.toContain('1. Town 0');
    expect(play(menu, ['1', '3'])).toMatch(/^t2 Town 2, East 5\n/);
    expect(play(menu, ['1', '99'])).toMatch(/^t97 /);
    expect(play(menu, ['2'])).toBe('Which?\n1. Ana\n2. Ben\n0. Back\n*. Exit');
    expect(play(menu, ['2', '2'])).toMatch(/^b Ben\s/);
    const members = { members: JSON.stringify([{ id: 7, name: 'Zoe' }]) };
    expect(play(menu, ['3', '1'], [members])).toMatch(/^7 Zoe\s/);
  });

  test('a long list is searched by typing; what is in no row is a hint', () => {
    const menu = load(states(), texts, data);
    expect(play(menu, ['1', 'KISU'])).toBe('Which?\nOr type.\n1. Kisumu\n0. Back\n*. Exit');
    expect(play(menu, ['1', 'kisu', '1'])).toMatch(/^t200 Kisumu 6\n/);
    expect(play(menu, ['1', 'Paris'])).toMatch(/^No match\.\nWhich\?/);
    expect(play(menu, ['2', 'Ben'])).toMatch(/^No choice\./);
  });

  test('a column may have others for further languages, which are searched and saved too', () => {
    const rows = Array.from({ length: 12 }, (_, i) => `c${i},Crop ${i},Plante ${i}`).join('\n');
    const file = { 'data/towns.csv': `id,name,name::fr\n${rows}\nc12,Rice,\n` };
    const listed = states().replace('save: { town: id, price: price }', 'save: { town: name }');
    const shown = listed.replace('values: { double: price * 2 }', 'values: { double: 1 }');
    const menu = load(shown, texts, { ...data, ...file });
    const french = { ...menu, locales: new Map([['fr', menu.locales.get('en') ?? new Map()]]) };
    expect(play(menu, ['1', 'p 11', '1'])).toMatch(/^Crop 11 Crop 11 1\n/);
    expect(play(french, ['1', 'te 11', '1'], [], 'fr')).toMatch(/^Plante 11 Plante 11 1\n/);
    expect(play(french, ['1', 'rice', '1'], [], 'fr')).toMatch(/^Rice Rice 1\n/);
  });

  test('rows are filtered by an expression; columns and files are checked', () => {
    const west = load(states(', where: row.region == "west" && row.price > 100'), texts, data);
    expect(play(west, ['1'])).toMatch(/1\. Town 101, West\n/);
    expect(
      faultsOf(
        states().replace('text: name, save: { town: id, price', 'text: nam, save: { town: id, price'),
        texts,
        data,
      )[0],
    ).toBe('p/states.yaml:4: state town: data/towns.csv has no column nam (did you mean name?)');
    expect(faultsOf(states(), texts)[0]).toBe('p/states.yaml:4: state town: there is no file data/towns.csv');
    const cut = { ...data, 'data/towns.csv': 'id,name,region,price\nx,X,east,2.54713E+11\n' };
    expect(faultsOf(states(), texts, cut)[0]).toMatch(
      /towns\.csv:1: 2\.54713E\+11 is a long number that a spreadsheet/,
    );
  });
});

test('a closing text that its values make longer than a screen is read in pages, the last one ends', () => {
  const menu = load(
    oneQuestion('type: text').replace('{ kind: page, text: done }', '{ kind: end, text: done }'),
    questionTexts.replace('Got {x}', '{x} {x} {x}'),
  );
  const long = 'seventy characters '.repeat(7).trim();
  const first = play(menu, ['1', long]);
  expect(first).toMatch(/98\. More$/);
  expect(first.length).toBeLessThanOrEqual(182);
  expect(play(menu, ['1', long, '98', '98'])).not.toContain('98. More');
  const wide = play(menu, ['1', 'ዓ'.repeat(60)]);
  expect(wide.length).toBeLessThanOrEqual(80);
});

test('questions and closing texts are tried with the longest values of their types, hints with theirs', () => {
  const states = (question: string) => `${oneQuestion(question).replace('to: done', 'to: confirm')}
  confirm: { kind: prompt, text: confirm, type: integer, min: 1, max: 9, save: y, to: done }
`;
  const texts = (length: number) => `${questionTexts}\nconfirm: '${'Sure'.padEnd(length, '.')} {x}'\n`;
  const fault =
    'state confirm: the question confirm with the hint hint.range does not fit one screen in en: shorten it';
  const isFault = (question: string, length: number) =>
    faultsOf(states(question), texts(length)).some((line) => line.endsWith(fault));
  const longestText = (question: string) => {
    let length = 1;
    while (!isFault(question, length)) length++;
    return length;
  };
  const whole = longestText('type: integer, max: 5');
  expect(whole - longestText('type: integer, max: 500000')).toBe(5);
  expect(whole - longestText('type: date')).toBe(9);
  expect(whole - longestText('type: phone')).toBe(15);
  expect(whole - longestText('type: text, length: 60')).toBe(59);
  const checked = check(states('type: text, length: 20'), texts(70));
  expect(checked.ok && checked.warnings.map(formatFault)).toContainEqual(
    expect.stringContaining('takes two screens in en where a name is in another script'),
  );
});

test('a file with many thousand faults takes no longer for each, and says the first fields', () => {
  const keys = Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`);
  const [fault] = faultsOf(`  home: { kind: menu, text: home, ${keys.join(', ')} }\n`, 'home: Home\n');
  expect(fault).toMatch(/there is no field k19 here, and 19980 more$/);
  const states = keys.map((key) => `  ${key}\n`).join('');
  expect(faultsOf(states, 'home: Home\n')).toHaveLength(20_000);
});

test.each([
  ['csv', `${Array.from({ length: 1_500 }, (_, i) => `c${i}`).join(',')}\n${'1\n'.repeat(4_900)}`, 'columns'],
  ['json', JSON.stringify(Array.from({ length: 4_900 }, (_, i) => ({ [`c${i}`]: i }))), 'columns'],
  ['csv', `c0\n${'1\n'.repeat(5_001)}`, 'rows'],
])('a list that would fill the memory is refused: %s', (kind, text, what) => {
  const home = `  home: { kind: menu, text: home, from: { ${kind}: data/a.${kind}, text: c0 }, to: bye }\n  bye: { kind: end, text: bye }\n`;
  expect(faultsOf(home, 'home: Home\nbye: Bye\n', { [`data/a.${kind}`]: text })).toEqual([
    expect.stringMatching(new RegExp(`a\\.${kind}:1: there are more than [\\d]+ ${what}: leave some out`)),
  ]);
});

test.each([
  ['min: fifty', 'min: must be a number, a date such as 2026-12-31, or today'],
  ['min: 2026-13-01', 'min: must be a number, a date such as 2026-12-31, or today'],
])('%s is explained', (limit, message) => {
  expect(faultsOf(oneQuestion(`type: integer, ${limit}`), questionTexts)).toEqual([
    `p/states.yaml:4: state ask: ${message}`,
  ]);
});

test.each(['sum(rows.map(row, row.amount))', 'sum([1, 2].map(n, n * x))', 'rows.filter(row, row.amount > 1)'])(
  'an unquoted %s inside { } is one fault that says to quote it',
  (source) => {
    const states = oneQuestion('type: integer').replace(
      'to: done }',
      `to: add }\n  add: { kind: set, values: { y: ${source} }, to: done }`,
    );
    const faults = faultsOf(states, questionTexts);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(/^p\/states\.yaml:5: .*Put quotes around expressions with commas/);
  },
);

test('no program has the name of the bundled menus', () => {
  const files = [{ file: 'program.yaml', path: 'program.yaml', text: 'name: palaver\n' }];
  const message = 'name: must be another name: the bundled menus and their reports have this one';
  const registry = { actions: {}, validators: {}, texts: [] };
  expect(checkProgram({ name: 'palaver', files }, registry, { name: 'palaver', files: [] })).toEqual({
    ok: false,
    faults: [{ file: 'program.yaml', line: 1, message }],
  });
});

test('{today} is the day of the call in every text', () => {
  const menu = load(oneQuestion('type: integer'), questionTexts.replace("'Got {x}'", "'Got {x} on {today}'"));
  expect(play(menu, ['1', '5'])).toMatch(/^Got 5 on 2026-11-17\n/);
});

describe('CSV', () => {
  const states = `  home: { kind: menu, text: home, from: { csv: data/a.csv, text: name, save: { id: id } }, to: bye }
  bye: { kind: end, text: home }
`;
  const listOf = (csv: string) => play(load(states, 'home: Home\n', { 'data/a.csv': csv }), []);

  test('text after a closing quote is a fault of its line, not another text', () => {
    const faults = faultsOf(states, 'home: Home\n', { 'data/a.csv': 'id,name\n1,Rice\n2,"Big" maize\n' });
    expect(faults).toEqual([expect.stringContaining('p/data/a.csv:3: a quote is not closed')]);
    expect(faultsOf(states, 'home: Home\n', { 'data/a.csv': 'id,name\n1,"Rice\n' })).toHaveLength(1);
  });

  test.each([
    ['id,name\n1,Rice\n\n"2\n",Maize,9\n', 4, '3 cells, and the first line names 2 columns'],
    ['id,name,name\n1,Rice,Maize\n', 1, 'two columns have the name name: give each its own'],
    ['id,,name\n1,Rice,Maize\n', 1, 'column 2 has no name: write one into the first line'],
    ['id;name\n1;Rice\n', 1, 'save the file with commas between the columns'],
    ['id\tname\n1\tRice\n', 1, 'save the file with commas between the columns'],
  ])('%j loses nothing silently', (csv, line, message) => {
    expect(faultsOf(states, 'home: Home\n', { 'data/a.csv': csv })[0]).toContain(`p/data/a.csv:${line}: ${message}`);
  });

  test('blank cells at the end of lines, which spreadsheets leave, are no columns', () => {
    expect(listOf('id,name,,\n1,Rice,,\n2,Maize\n,,,\n')).toContain('1. Rice\n2. Maize\n');
  });

  test('quotes, commas and lines inside quotes are part of the cell', () => {
    expect(listOf('\uFEFFid,name\r\n1,"Big ""white"", maize"\r\n\r\n2, Rice \r\n')).toContain(
      '1. Big "white", maize\n2. Rice\n',
    );
  });
});
