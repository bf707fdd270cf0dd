import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type MenuFile, parseMenu } from './parse-menu.ts';
import { printFile } from './print.ts';

const toPrinted = ({ header, states }: MenuFile) => ({
  header,
  states: new Map(Array.from(states, ([name, { state }]) => [name, state])),
});

const name = fc.stringMatching(/^[a-z][a-zA-Z0-9]{0,8}$/);
const key = fc.stringMatching(/^[a-z]{1,5}(\.[a-z0-9]{1,4}){0,2}$/);
const expression = fc.oneof(
  fc.stringMatching(/^[a-z]{1,4} [<>+] [a-z0-9]{1,4}$/),
  fc.constantFrom('true', '5', '"a: b # c"', "size(x) == 0 ? '' : x"),
);
const maybe = <T>(field: string, arbitrary: fc.Arbitrary<T>) =>
  fc.option(arbitrary, { nil: undefined }).map((value) => (value === undefined ? {} : { [field]: value }));
const fields = fc.dictionary(name, expression, { maxKeys: 3 });
const all = (...parts: fc.Arbitrary<object>[]) =>
  fc.tuple(...parts).map((each) => Object.assign({}, ...each) as object);
const one = (field: string, arbitrary: fc.Arbitrary<unknown>) => arbitrary.map((value) => ({ [field]: value }));
const screen = all(one('text', key), maybe('back', fc.boolean()), maybe('requires', fc.constant('authenticated')));
const option = all(
  one('text', key),
  one('to', name),
  maybe('key', fc.integer({ min: 1, max: 97 })),
  maybe('when', expression),
  maybe('set', fc.dictionary(name, fc.string({ maxLength: 9 }), { maxKeys: 2 })),
);
const options = fc.array(option, { minLength: 1, maxLength: 4 });
const outcomes = one(
  'outcomes',
  fc.dictionary(name, fc.oneof(name, all(one('to', name), maybe('hint', key))), { maxKeys: 3 }),
);
const kind = (of: string, ...parts: fc.Arbitrary<object>[]) => all(fc.constant({ kind: of }), ...parts);
const check = all(one('that', expression), one('save', fc.constant({ sum: 'count()' })), maybe('where', expression));

/** Every kind of state and every keyword of an action. */
const state = fc.oneof(
  kind('menu', screen, one('options', options)),
  kind(
    'menu',
    screen,
    one('to', name),
    maybe('when', expression),
    fc.constant({ from: { csv: 'data/a.csv', text: 'a' } }),
  ),
  kind('page', screen, maybe('options', options)),
  kind('prompt', one('text', key), one('save', name), one('to', name), fc.constant({ validator: 'pin', secret: true })),
  kind(
    'prompt',
    one('text', key),
    one('save', name),
    one('to', name),
    maybe('min', fc.nat(9)),
    one('type', fc.constantFrom('integer', 'decimal')),
    maybe('hint', key),
  ),
  kind('end', one('text', key)),
  kind(
    'branch',
    one('else', name),
    one('when', fc.array(all(one('that', expression), one('to', name)), { minLength: 1, maxLength: 3 })),
  ),
  kind('set', one('values', fields), one('to', name)),
  kind('call', one('flow', name), one('to', name)),
  kind('return'),
  kind('each', one('list', expression), one('as', name), one('do', name), one('to', name)),
  kind('form', one('to', name), maybe('waive', fc.constant(['photo'])), fc.constant({ form: 'forms/a.xml' })),
  kind('action', outcomes, one('action', name), maybe('requires', fc.constant('authenticated'))),
  kind('action', outcomes, one('store', name), one('fields', fields), maybe('check', check)),
  kind('action', outcomes, one('update', name), one('fields', fields), one('where', expression)),
  kind('action', outcomes, one('find', name), one('save', name), maybe('limit', fc.integer({ min: 1, max: 200 }))),
  kind('action', outcomes, one('total', name), fc.constant({ save: { count: 'count()' }, of: 'everyone' })),
  kind(
    'action',
    outcomes,
    fc.constant({ http: { get: 'https://a.example/{x}', headers: { 'x-y': '{secrets.Z}' } }, take: { x: '$.a[0]' } }),
  ),
  kind('action', outcomes, fc.constant({ protocol: '/a/b', when: [{ that: 'status == 409', outcome: 'taken' }] })),
  kind('action', outcomes, one('sms', all(one('text', key), maybe('number', expression)))),
  kind('action', outcomes, one('assistant', expression), maybe('save', name)),
  kind('action', outcomes, one('claim', name), one('fields', fields), maybe('collection', fc.nat(99))),
);

test('what is printed is parsed to the same program', () => {
  fc.assert(
    fc.property(fc.dictionary(name, state, { maxKeys: 6 }), name, (states, start) => {
      const header = { name: 'shop', languages: ['en', 'sw'], records: { sale: { day: 'date' } }, codes: ['*384*7#'] };
      const parsed = parseMenu('program.yaml', JSON.stringify({ ...header, start, states }));
      expect(parsed.faults).toEqual([]);
      const file = toPrinted(parsed);
      const text = printFile(file);
      const again = parseMenu('program.yaml', text);
      expect(again.faults).toEqual([]);
      expect(toPrinted(again)).toEqual(file);
      expect(printFile(toPrinted(again), text)).toBe(text);
    }),
  );
});

test('what a change leaves as it was keeps its comments, its order and its layout', () => {
  const before = `# The farm line.
start: home # the first screen
states:
  # Where callers begin.
  home:
    kind: menu
    text: home.title
    options:
      - { text: about.title, to: about } # more to come
  about: { kind: page, text: about.text } # short
`;
  const file = toPrinted(parseMenu('home.yaml', before));
  expect(printFile(file, before)).toBe(before);
  const states = new Map(file.states).set('bye', { kind: 'end', text: 'bye.text' });
  expect(printFile({ ...file, states }, before)).toBe(`${before}  bye: { kind: end, text: bye.text }\n`);
});
