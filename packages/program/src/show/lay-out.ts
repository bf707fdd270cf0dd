import { type Surface, ussd } from '../values/surface.ts';
import { countSeptets, isGsm, toShowable } from './gsm.ts';

export interface Line {
  key: string;
  label: string;
}

export interface Content {
  /** Shown before everything else on the page `hintPage`. */
  hint?: string;
  hintPage?: number;
  body: string;
  /** Choices, which stay whole where a page has room for them. */
  lines: readonly Line[];
}

export interface Navigation {
  more: Line;
  /** Absent where there is no way back at all; the first page has it only with `hasBack`. */
  back?: Line | undefined;
  exit?: Line | undefined;
  hasBack: boolean;
}

export interface Page {
  text: string;
  /** How many of the choices are on this page and those before it. */
  lines: number;
  buttons?: Line[];
}

interface Atom {
  text: string;
  /** What joins it to the atom before, when both are on one page. */
  glue: string;
}

export function measure(
  texts: readonly string[],
  surface: Surface = ussd,
): { limit: number; cost(text: string): number } {
  const isWide = surface.counts === 'gsm' && !texts.every(isGsm);
  const limit = isWide ? (surface.wideCharacters ?? surface.characters) : surface.characters;
  const isPlain = isWide || surface.counts === 'plain';
  return { limit, cost: (text) => (isPlain ? text.length : (countSeptets(text) ?? text.length)) };
}

/** Lays content out on as many screens as it takes; nothing but white space at the joints is left out. */
export function layOut(content: Content, navigation: Navigation, surface: Surface = ussd): Page[] {
  const show = surface.counts === 'gsm' ? toShowable : (text: string) => text;
  const { lines: mostLines = Number.POSITIVE_INFINITY, choices } = surface;
  const isNumbered = choices === 'numbered';
  const toText = (line: Line) => (isNumbered ? show(`${line.key}. ${line.label}`) : '');
  const [hint, body] = [show(content.hint ?? ''), show(content.body)];
  const lines = isNumbered ? content.lines.map(toText) : [];
  const { more, back, exit, hasBack } = navigation;
  const keys = [more, back, exit].flatMap((line) => (line ? { line, text: toText(line) } : []));
  const { limit, cost } = measure([hint, body, ...lines, ...keys.map(({ text }) => text)], surface);
  const keysOf = (page: number, isLast: boolean) =>
    keys.filter(({ line }) => (line !== more || !isLast) && (line !== back || page > 0 || hasBack));
  const footer = (page: number, isLast: boolean) =>
    join(keysOf(page, isLast).map(({ text }) => shorten(text, limit / 4, cost)));

  const pages: Page[] = [];
  const add = (parts: string[], isLast: boolean, shown = content.lines.length) => {
    const own = isLast ? content.lines : [];
    const buttons = isNumbered ? undefined : [...own, ...keysOf(pages.length, isLast).map(({ line }) => line)];
    pages.push({ text: join(parts), lines: shown, ...(buttons && { buttons }) });
  };
  const whole = [hint, body, ...lines, footer(0, true)];
  if (cost(join(whole)) <= limit && countLines(join(whole)) <= mostLines) add(whole, true);
  let rest = pages.length > 0 ? [] : toAtoms(body, lines);
  while (rest.length > 0) {
    const page = pages.length;
    if (page === (content.hintPage ?? 0) && hint !== '') rest = [...toAtoms(hint, []), ...onNewLine(rest)];
    const take = (end: string) =>
      takeAtoms(rest, { room: limit - cost(`\n${end}`), lines: mostLines - countLines(end), cost });
    // The last page has no More and so more room: the rest is tried as the last page first.
    const [all, none] = take(footer(page, true));
    const [taken, left] = none.length === 0 ? [all, none] : take(footer(page, false));
    const isLast = none.length === 0;
    add([taken, footer(page, isLast)], isLast, isLast ? undefined : Math.max(0, lines.length - left.length));
    rest = left;
  }
  return pages;
}

export function fitsOneScreen(text: string): boolean {
  const shown = toShowable(text);
  const { limit, cost } = measure([shown]);
  return cost(shown) <= limit;
}

const join = (parts: string[]) => parts.filter((part) => part !== '').join('\n');

const countLines = (text: string) => (text === '' ? 0 : text.split('\n').length);

function toAtoms(body: string, lines: string[]): Atom[] {
  const words = Array.from(body.matchAll(/(\s*)(\S+)/g), ([, space = '', text = '']) => ({
    text,
    glue: space.includes('\n') ? space.replace(/[^\n]/g, '') : ' ',
  }));
  return [...words, ...lines.map((text) => ({ text, glue: '\n' }))];
}

const onNewLine = ([first, ...others]: Atom[]) => (first ? [{ ...first, glue: '\n' }, ...others] : []);

/** Fills one page. A word is broken only when it alone is longer than the page. */
function takeAtoms(
  atoms: Atom[],
  { room, lines, cost }: { room: number; lines: number; cost(text: string): number },
): [string, Atom[]] {
  let text = '';
  let [used, breaks] = [0, 0];
  for (const [i, atom] of atoms.entries()) {
    const next = text === '' ? atom.text : atom.glue + atom.text;
    // No character costs less than one.
    const added = next.length > room ? next.length : cost(next);
    const newLines = countLines(next) - 1;
    if (used + added <= room && (text === '' || breaks + newLines < lines)) {
      text += next;
      used += added;
      breaks += newLines;
      continue;
    }
    if (text !== '') return [text, atoms.slice(i)];
    const [head, tail] = breakWord(atom.text, room, cost);
    return [head, [...(tail === '' ? [] : [{ text: tail, glue: atom.glue }]), ...atoms.slice(i + 1)]];
  }
  return [text, []];
}

/** Even three long labels of keys leave room for a text. */
function shorten(label: string, room: number, cost: (text: string) => number): string {
  return cost(label) <= room ? label : breakWord(label, room, cost)[0];
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
