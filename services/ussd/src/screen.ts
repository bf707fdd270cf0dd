import { ussdLimits } from '@palaver/contract';
import { countSeptets, isGsm, toShowable } from './gsm.ts';

/** The longest text a phone shows at once, in characters of the default alphabet (160 octets of 7 bits each). */
export const screenLimit = ussdLimits.screenCharacters;

/** The same 160 octets hold 80 characters when one of them is outside the alphabet (UCS-2). */
export const wideScreenLimit = 80;

export interface Content {
  /** Shown before everything else on the page `hintPage`. */
  hint?: string;
  hintPage?: number;
  body: string;
  /** Lines that stay whole where a page has room for them: the choices of a menu. */
  lines: string[];
}

export interface Navigation {
  more: string;
  back: string;
  exit: string;
  /** Whether the first page offers the way back; later pages always do, to the page before. */
  hasBack: boolean;
}

export interface Page {
  text: string;
  /** How many of the lines are on this page and those before it. */
  lines: number;
}

interface Atom {
  text: string;
  /** What joins it to the atom before, when both are on one page. */
  glue: string;
}

/** Lays content out on as many screens as it takes; nothing but white space at the joints is left out. */
export function layOut(content: Content, navigation: Navigation): Page[] {
  const { hintPage = 0 } = content;
  const hint = toShowable(content.hint ?? '');
  const body = toShowable(content.body);
  const lines = content.lines.map(toShowable);
  const nav = { ...navigation, more: toShowable(navigation.more), back: toShowable(navigation.back) };
  nav.exit = toShowable(navigation.exit);
  const wide = ![hint, body, ...lines, nav.more, nav.back, nav.exit].every(isGsm);
  const limit = wide ? wideScreenLimit : screenLimit;
  const cost = (text: string) => (wide ? text.length : (countSeptets(text) ?? text.length));
  const footer = (page: number, last: boolean) =>
    join([...(last ? [] : [nav.more]), ...(page > 0 || nav.hasBack ? [nav.back] : []), nav.exit]);

  const whole = join([hint, body, ...lines, footer(0, true)]);
  if (cost(whole) <= limit) return [{ text: whole, lines: lines.length }];

  const pages: Page[] = [];
  let rest = toAtoms(body, lines);
  while (rest.length > 0) {
    const page = pages.length;
    if (page === hintPage && hint !== '') rest = [...toAtoms(hint, []), ...onNewLine(rest)];
    // The last page has no More and so a little more room; whether this is the last one is seen by trying.
    const [all, none] = takeAtoms(rest, limit - cost(`\n${footer(page, true)}`), cost);
    if (none.length === 0) {
      pages.push({ text: join([all, footer(page, true)]), lines: lines.length });
      break;
    }
    const [taken, left] = takeAtoms(rest, limit - cost(`\n${footer(page, false)}`), cost);
    pages.push({ text: join([taken, footer(page, false)]), lines: Math.max(0, lines.length - left.length) });
    rest = left;
  }
  return pages;
}

/** True when the text fits one screen: closing messages cannot be paged. */
export function fitsOneScreen(text: string): boolean {
  const shown = toShowable(text);
  return isGsm(shown) ? (countSeptets(shown) ?? 0) <= screenLimit : shown.length <= wideScreenLimit;
}

function join(parts: string[]): string {
  return parts.filter((part) => part !== '').join('\n');
}

function toAtoms(body: string, lines: string[]): Atom[] {
  const words = Array.from(body.matchAll(/(\s*)(\S+)/g), ([, space = '', text = '']) => ({
    text,
    glue: space.includes('\n') ? space.replace(/[^\n]/g, '') : ' ',
  }));
  return [...words, ...lines.map((text) => ({ text, glue: '\n' }))];
}

function onNewLine([first, ...others]: Atom[]): Atom[] {
  return first ? [{ ...first, glue: '\n' }, ...others] : [];
}

/** Fills one page. A word is broken only when it alone is longer than the page. */
function takeAtoms(atoms: Atom[], room: number, cost: (text: string) => number): [string, Atom[]] {
  let text = '';
  let used = 0;
  for (const [i, atom] of atoms.entries()) {
    const next = text === '' ? atom.text : atom.glue + atom.text;
    // No character costs less than one.
    const added = next.length > room ? next.length : cost(next);
    if (used + added <= room) {
      text += next;
      used += added;
      continue;
    }
    if (text !== '') return [text, atoms.slice(i)];
    const [head, tail] = breakWord(atom.text, room, cost);
    return [head, [{ text: tail, glue: atom.glue }, ...atoms.slice(i + 1)]];
  }
  return [text, []];
}

function breakWord(word: string, room: number, cost: (text: string) => number): [string, string] {
  // A choice that is a sentence breaks between its words first.
  let cut = 0;
  let at = 0;
  let used = 0;
  for (const char of word) {
    used += cost(char);
    if (used > room) break;
    at += char.length;
    if (char === ' ') cut = at;
  }
  const end = cut > 0 ? cut : Math.max(at, 1);
  return [word.slice(0, end).trimEnd(), word.slice(end)];
}
