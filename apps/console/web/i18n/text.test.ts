import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';
import ar from './ar.json' with { type: 'json' };
import en from './en.json' with { type: 'json' };
import fr from './fr.json' with { type: 'json' };
import { programTexts } from './program-texts.ts';
import sw from './sw.json' with { type: 'json' };
import { type Forms, fillMessage, type MessageKey, type Messages } from './text.ts';

const others = Object.entries({ fr, sw, ar });
const toForms = (message: string | Forms) => (typeof message === 'string' ? { other: message } : message);
const placeholders = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).sort();

// biome-ignore lint/suspicious/noExplicitAny: the parser's nodes are read by their names.
type Node = any;

const web = join(import.meta.dirname, '..');
const sources = readdirSync(web, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.tsx?$/.test(path) && !path.startsWith('i18n'))
  .map((path) => ({ path, source: readFileSync(join(web, path), 'utf8') }));

test.each(others)('%s has the keys of English, in the same order', (_, messages) => {
  expect(Object.keys(messages)).toEqual(Object.keys(en));
});

test('every text is used', () => {
  const whole = sources.map(({ source }) => source).join('\n');
  // `programs.kind-${kind}` uses all that begin so; for `programs.${view}` the rest is a text of its own somewhere.
  const beginnings = Array.from(whole.matchAll(/`([a-z]+\.[a-z-]*)\$\{/g), ([, beginning = '']) => beginning);
  const isBuilt = (key: string) => (beginning: string) =>
    key.startsWith(beginning) && (!beginning.endsWith('.') || whole.includes(`'${key.slice(beginning.length)}'`));
  const isUsed = (key: string) => whole.includes(`'${key}'`) || beginnings.some(isBuilt(key));
  expect(Object.keys(en).filter((key) => !isUsed(key))).toEqual([]);
});

test('only the pages of programs use the texts that are loaded with them', () => {
  const { calls } = readCalls();
  const elsewhere = calls.filter(({ place }) => !/^(programs|results|callers)[/\\]/.test(place));
  expect(elsewhere.length).toBeGreaterThan(200);
  expect(elsewhere.filter(({ keys }) => keys.some((key) => programTexts.test(key)))).toEqual([]);
});

/** What the sources give to `t`, by the keys it may be called with; and the keys that a variable may bring to it. */
function readCalls() {
  const calls: { place: string; keys: string[]; isBuilt: boolean; values: string[] }[] = [];
  const passed = new Set<string>();
  for (const { path, source } of sources.filter(({ path }) => !path.endsWith('.test.ts'))) {
    const visit = (node: Node): void => {
      if (node.type === 'Literal' && Object.hasOwn(en, node.value)) passed.add(node.value);
      const isCall = node.type === 'CallExpression' && node.callee.name === 't';
      const [keyNode, valuesNode] = isCall ? node.arguments : [];
      const keys = isCall ? toKeys(keyNode) : [];
      if (keys.length > 0) {
        const place = `${path}:${source.slice(0, node.start).split('\n').length}`;
        const values = (valuesNode?.properties ?? []).map((property: Node) => `{${property.key.name}}`).sort();
        calls.push({ place, keys, isBuilt: keyNode.type === 'TemplateLiteral', values });
      }
      for (const child of Object.values(node).flat())
        if (child && typeof child === 'object' && !(keys.length > 0 && child === keyNode)) visit(child as Node);
    };
    visit(parseSync(path, source).program as unknown as Node);
  }
  return { calls, passed };
}

function toKeys(node: Node): string[] {
  if (node.type === 'ConditionalExpression') return [node.consequent, node.alternate].flatMap(toKeys);
  if (node.type === 'Literal') return [String(node.value)];
  if (node.type !== 'TemplateLiteral') return [];
  const [start, end] = node.quasis.map(({ value }: Node) => value.cooked);
  return Object.keys(en).filter((key) => key.startsWith(start) && key.endsWith(end));
}

test('every text is given the values that its English names', () => {
  const { calls, passed } = readCalls();
  const namesOf = (key: string) => [...new Set(placeholders(toForms(en[key as MessageKey]).other))];
  expect(calls.length).toBeGreaterThan(400);
  for (const { place, keys, isBuilt, values } of calls) {
    const expected = keys.map((key) => [place, ...namesOf(key)]);
    // The types say which of the texts that begin so are meant.
    if (isBuilt) expect(expected).toContainEqual([place, ...values]);
    else expect(expected).toEqual(keys.map(() => [place, ...values]));
  }
  const given = new Set(calls.flatMap(({ keys, values }) => keys.map((key) => [key, ...values].join(' '))));
  const named = Object.keys(en).filter((key) => namesOf(key).length > 0);
  expect(named.filter((key) => !passed.has(key) && !given.has([key, ...namesOf(key)].join(' ')))).toEqual([]);
  // A variable brings these to `t`, beside their values.
  expect(named.filter((key) => passed.has(key))).toEqual([
    ...['explorer.retiredFor', 'explorer.cancelledFor', 'programs.fileTooLarge', 'programs.fileUnknown'],
    ...['programs.textIn', 'programs.messageIn', 'programs.nowInUse', 'programs.inUseAgain', 'programs.hintIn'],
  ]);
});

test('no page has a text of its own beside these files', () => {
  const notWords = ['GET', 'Palaver', 'https://matrix.example', 'mxc://server/id'];
  const attribute = /(?:aria-label|title|placeholder|alt)="([^"]*\p{L}{3}[^"]*)"/gu;
  const element = />\s*([^<>{}=()]*\p{L}{3}[^<>{}=()]*)<\//gu;
  const beside = sources
    .filter(({ path }) => path.endsWith('.tsx'))
    .flatMap(({ path, source }) =>
      [attribute, element].flatMap((pattern) =>
        Array.from(source.matchAll(pattern), ([, text = '']) => ({ path, text: text.trim() })),
      ),
    );
  expect(beside.filter(({ text }) => !notWords.includes(text))).toEqual([]);
});

test.each(others)('every text in %s has a value, and names the same values as the English one', (_, messages) => {
  for (const [key, message] of Object.entries(messages)) {
    const { other, ...rare } = toForms(message);
    expect([key, ...placeholders(other)]).toEqual([key, ...placeholders(toForms(en[key as MessageKey]).other)]);
    for (const text of [other, ...Object.values(rare)]) expect([key, text.trim()]).not.toEqual([key, '']);
  }
});

test('a count chooses the form that the language has for it, and is written as the language writes it', () => {
  const say = (messages: Messages, locale: string, count: number) =>
    fillMessage(messages['explorer.routeCount'], locale, { count });
  expect([1, 1200].map((count) => fillMessage(en['explorer.routeCount'], 'en-GB', { count }))).toEqual([
    '1 route',
    '1,200 routes',
  ]);
  expect([1, 2, 3, 11, 100].map((count) => say(ar, 'ar-u-nu-latn', count))).toEqual([
    'مسار واحد',
    'مساران',
    '3 مسارات',
    '11 مسارًا',
    '100 مسار',
  ]);
  expect(say(fr, 'fr', 0)).toBe('0 route');
});

test('a value that looks like a placeholder or a pattern stays as it is', () => {
  expect(fillMessage('{a} and {b}', 'en', { a: '{b}', b: '$&' })).toBe('{b} and $&');
});
