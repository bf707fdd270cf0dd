import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ussd } from '../values/surface.ts';
import { countSeptets, isGsm, toShowable } from './gsm.ts';
import { fitsOneScreen, type Line, layOut as layOutLines } from './lay-out.ts';

const navigation = { more: '98. More', back: '0. Back', exit: '*. Exit', hasBack: true };
const { characters: screenLimit, wideCharacters: wideScreenLimit = 0 } = ussd;
type Content = { hint?: string; hintPage?: number; body: string; lines: string[] };
type Navigation = { more: string; back: string; exit: string; hasBack: boolean };
const toLine = (text: string): Line => ({
  key: text.split('. ', 1)[0] ?? '',
  label: text.slice(text.indexOf('. ') + 2),
});
const layOut = ({ lines, ...content }: Content, { more, back, exit, hasBack }: Navigation) =>
  layOutLines(
    { ...content, lines: lines.map(toLine) },
    {
      more: toLine(more),
      back: back === '' ? undefined : toLine(back),
      exit: exit === '' ? undefined : toLine(exit),
      hasBack,
    },
  );
const textsOf = (content: Content, nav: Navigation) => layOut(content, nav).map(({ text }) => text);
const withoutSpace = (text: string) => text.replace(/\s/g, '');
const navigationLines = new Set(['98. More', '0. Back', '*. Exit']);
const contentOf = (page: string) =>
  page
    .split('\n')
    .filter((line) => !navigationLines.has(line))
    .join('\n');

describe('what phones can show', () => {
  test.each([
    ['Ça va très bien, déjà', 'Ça va très bien, déjà'],
    ['tâche, fenêtre, île, hôtel, sûr, garçon, naïf', 'tache, fenetre, ile, hotel, sur, garcon, naif'],
    ['“Oui” – l’œuvre…', '"Oui" - l\'oeuvre...'],
    ['a\u00a0b\u202fc\u200bd', 'a b cd'],
    ['ﬁn ½', 'fin 1/2'],
    ['done 👍🏽 ok', 'done  ok'],
    ['سلام', 'سلام'],
  ])('%j is shown as %j', (text, shown) => {
    expect(toShowable(text)).toBe(shown);
  });

  test('characters of the extension table count twice', () => {
    expect(countSeptets('a€[b]')).toBe(8);
    expect(countSeptets('ê')).toBeUndefined();
    expect(fitsOneScreen('€'.repeat(91))).toBe(true);
    expect(fitsOneScreen('€'.repeat(92))).toBe(false);
    expect(fitsOneScreen('ش'.repeat(80))).toBe(true);
    expect(fitsOneScreen('ش'.repeat(81))).toBe(false);
  });
});

describe('paging', () => {
  test('what fits is one page', () => {
    expect(textsOf({ body: 'Choose', lines: ['1. One', '2. Two'] }, navigation)).toEqual([
      'Choose\n1. One\n2. Two\n0. Back\n*. Exit',
    ]);
    expect(textsOf({ body: 'Choose', lines: [] }, { ...navigation, hasBack: false })).toEqual(['Choose\n*. Exit']);
  });

  test('a text of exactly the limit is not paged, one character more is', () => {
    const room = screenLimit - '\n*. Exit'.length;
    const pages = (length: number) =>
      textsOf({ body: 'x'.repeat(length), lines: [] }, { ...navigation, hasBack: false });
    expect(pages(room)).toHaveLength(1);
    expect(pages(room + 1)).toHaveLength(2);
  });

  test('choices stay whole, More is on all pages but the last, Back on all but a first one without it', () => {
    const lines = Array.from({ length: 20 }, (_, i) => `${i + 1}. Choice number ${i + 1}`);
    const pages = textsOf({ body: 'Choose', lines }, { ...navigation, hasBack: false });
    expect(pages.length).toBeGreaterThan(1);
    for (const [i, page] of pages.entries()) {
      const shown = page.split('\n');
      expect(shown.includes('98. More')).toBe(i < pages.length - 1);
      expect(shown.includes('0. Back')).toBe(i > 0);
      for (const line of contentOf(page).split('\n')) expect(['Choose', ...lines]).toContain(line);
    }
    expect(pages.flatMap((page) => contentOf(page).split('\n'))).toEqual(['Choose', ...lines]);
  });

  test('no text loses a character, no page is too long, no word is cut that has room', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'é', '€', '[', 'Z', '9'), minLength: 1, maxLength: 60 });
    const wide = fc.string({ unit: fc.constantFrom('ش', 'a', 'و'), minLength: 1, maxLength: 30 });
    const texts = fc.array(fc.oneof({ weight: 9, arbitrary: word }, wide), { maxLength: 120 });
    fc.assert(
      fc.property(texts, fc.array(word, { maxLength: 9 }), fc.boolean(), (words, labels, hasBack) => {
        const lines = labels.map((label) => `1. ${label}`);
        const pages = textsOf({ body: words.join(' '), lines }, { ...navigation, hasBack });
        expect(withoutSpace(pages.map(contentOf).join(''))).toBe(withoutSpace(words.join('') + lines.join('')));
        const gsm = [...words, ...lines].every(isGsm);
        for (const page of pages) {
          if (gsm) expect(countSeptets(page)).toBeLessThanOrEqual(screenLimit);
          else expect(page.length).toBeLessThanOrEqual(wideScreenLimit);
        }
        const shown = pages.flatMap((page) => contentOf(page).split(/\s+/).filter(Boolean));
        const room = (gsm ? screenLimit : wideScreenLimit) - '\n98. More\n0. Back\n*. Exit'.length;
        const cost = (text: string) => (gsm ? (countSeptets(text) ?? 0) : text.length);
        if ([...words, ...lines].every((text) => cost(text) <= room))
          expect(shown).toEqual([...words, ...labels.flatMap((label) => ['1.', label])]);
      }),
    );
  });

  test('a very long text is laid out page by page, not again and again', () => {
    const words = Array.from({ length: 20_000 }, (_, i) => `w${i}`);
    const pages = textsOf({ body: words.join(' '), lines: [] }, navigation);
    expect(pages.flatMap((page) => contentOf(page).split(/\s+/))).toEqual(words);
  });

  test('a hint is on its page: those before are as without it, nothing after is lost', () => {
    const words = Array.from({ length: 90 }, (_, i) => `w${i}`);
    const lines = ['1. One', '2. Two'];
    const content = { body: words.join(' '), lines };
    const plain = textsOf(content, navigation);
    for (const hintPage of plain.keys()) {
      const pages = textsOf({ ...content, hint: 'No such choice.', hintPage }, navigation);
      expect(pages.slice(0, hintPage)).toEqual(plain.slice(0, hintPage));
      expect(pages[hintPage]).toMatch(/^No such choice\.\n/);
      const start = contentOf(plain[hintPage] ?? '').slice(0, 20);
      expect(pages[hintPage]?.split('\n').slice(1).join('\n').startsWith(start)).toBe(true);
      const seen = pages.map(contentOf).join('\n').replace('No such choice.\n', '');
      expect(withoutSpace(seen)).toBe(withoutSpace(words.join('') + lines.join('')));
      for (const page of pages) expect(countSeptets(page)).toBeLessThanOrEqual(screenLimit);
    }
  });

  test('each page says how many of the lines have been shown', () => {
    const lines = Array.from({ length: 12 }, (_, i) => `${i + 1}. Choice number ${i + 1}`);
    const pages = layOut({ body: 'word '.repeat(40).trim(), lines }, navigation);
    let shown = 0;
    for (const page of pages) {
      shown += page.text.split('\n').filter((line) => lines.includes(line)).length;
      expect(page.lines).toBe(shown);
    }
    expect([pages[0]?.lines, pages.at(-1)?.lines]).toEqual([0, 12]);
  });

  test('labels of keys leave room for the text, whatever values they show', () => {
    const letter = fc.constantFrom('a', '€', 'ش', ' ');
    const label = fc.string({ unit: letter, minLength: 1, maxLength: 200, size: 'max' });
    fc.assert(
      fc.property(
        label,
        label,
        label,
        fc.string({ unit: letter, maxLength: 300, size: 'max' }),
        (more, back, exit, text) => {
          const pages = textsOf(
            { body: text, lines: ['1. One'] },
            { more: `98. ${more}`, back: `0. ${back}`, exit: `*. ${exit}`, hasBack: true },
          );
          for (const page of pages) expect(fitsOneScreen(page)).toBe(true);
          expect(pages.length).toBeLessThan(40);
        },
      ),
    );
  });

  test('a single word longer than a page is broken, not lost', () => {
    const pages = textsOf({ body: 'x'.repeat(500), lines: [] }, navigation);
    expect(pages.map(contentOf).join('')).toBe('x'.repeat(500));
  });
});
