import { RE2JS } from '@bufbuild/re2';
import { LRUCache } from 'lru-cache';

export const maxPatternLength = 500;
/** The most characters that an answer has. */
const maxRepeats = 160;
/** The most RE2 instructions of a pattern, in which each repetition is written out. */
const maxInstructions = 1_500;
/** RE2 takes time that grows with the length of the text times that of the program: about 300 ns for each step. */
const maxSteps = 300_000;

const maxFolded = 5_000;

const compiled = new LRUCache<string, RE2JS>({ max: 500 });
/** The numbers that all matchers together have cached for their next text. */
let kept = 0;
const maxKept = 4_000_000;
const keptOfCharacter = 128;

export function isFullMatch(pattern: string, text: string): boolean {
  return take(pattern, text)?.matches(text) ?? false;
}

/** Whether a part of the text matches; `undefined` where pattern and text are too much for a key press. */
export function hasMatch(pattern: string, text: string): boolean | undefined {
  if (pattern.length > maxPatternLength) throw new Error('too long');
  return take(pattern, text)?.test(text);
}

function take(pattern: string, text: string): RE2JS | undefined {
  const matcher = compiled.get(pattern) ?? compile(pattern);
  const instructions = matcher?.re2().prog.numInst() ?? Number.POSITIVE_INFINITY;
  if (!matcher || instructions * text.length > maxSteps) return undefined;
  kept += text.length * (instructions + keptOfCharacter);
  if (kept > maxKept) {
    for (const one of compiled.values()) one.reset();
    kept = 0;
  }
  return matcher;
}

function compile(pattern: string): RE2JS | undefined {
  if (isTooLarge(pattern)) return undefined;
  const made = RE2JS.compile(pattern);
  compiled.set(pattern, made);
  return made;
}

const token = /\\.|\[(?:\\.|[^\]\\])*\]|[()]|\{(\d{1,4})(?:,(\d{0,4}))?\}|./gsu;

/** Estimates the RE2 instructions of a pattern, since compiling takes time. Repetitions multiply what they repeat. */
function countInstructions(pattern: string): number {
  const outer: number[] = [];
  let [sum, last] = [0, 0];
  for (const [text, least, most] of pattern.matchAll(token)) {
    if (least !== undefined) {
      const times = Math.max(Number(least), Number(most ?? 0), 1);
      sum += last * (times - 1);
      last *= times;
    } else if (text === '(') {
      outer.push(sum);
      sum = 0;
    } else if (text === ')') {
      last = sum + 2;
      sum = (outer.pop() ?? 0) + last;
    } else {
      last = 2;
      sum += last;
    }
  }
  return outer.reduce((all, one) => all + one, sum);
}

const isTooLarge = (pattern: string) =>
  countInstructions(pattern) > maxInstructions || countFolded(pattern) > maxFolded;

/** Counts the characters of ranges that ignore case: RE2 looks up the other case of each. Whatever looks like a range counts. */
function countFolded(pattern: string): number {
  if (!/\(\?[a-z]*i/i.test(pattern)) return 0;
  const toCharacter = (_: string, hex: string) => String.fromCodePoint(Math.min(Number.parseInt(hex, 16), 0x10ffff));
  const written = pattern.replace(/\\x\{([\da-f]+)\}/gi, toCharacter);
  const codeOf = (character = '') => character.codePointAt(0) ?? 0;
  const ranges = written.matchAll(/(?=\\?(.)-\\?(.))/gsu);
  return [...ranges].reduce((sum, [, from, to]) => sum + Math.max(0, codeOf(to) - codeOf(from)), 0);
}

export function patternFault(pattern: string): string | undefined {
  const counts = [...pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].flatMap(([, least, most]) => [least, most]);
  if (counts.some((count) => Number(count ?? 0) > maxRepeats))
    return `a pattern repeats at most ${maxRepeats} times, as an answer has no more characters`;
  if (isTooLarge(pattern))
    return 'the pattern is too large: it repeats too much, repeats what is repeated, or ignores the case of a long range';
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
