import { RE2JS } from '@bufbuild/re2';

/** Of a pattern. */
export const maxPatternLength = 500;
const compiled = new Map<string, RE2JS>();
const maxCompiled = 500;
/** As many characters as an answer has. */
const maxRepeats = 160;

/** Matches in time that grows with the length of the text alone, whatever the pattern is. */
export function isFullMatch(pattern: string, text: string): boolean {
  return (compiled.get(pattern) ?? compile(pattern)).matches(text);
}

/** Whether a part of the text matches. */
export function hasMatch(pattern: string, text: string): boolean {
  if (pattern.length > maxPatternLength) throw new Error('too long');
  return (compiled.get(pattern) ?? compile(pattern)).test(text);
}

function compile(pattern: string): RE2JS {
  const [oldest] = compiled.size >= maxCompiled ? compiled.keys() : [];
  if (oldest !== undefined) compiled.delete(oldest);
  const made = RE2JS.compile(pattern);
  compiled.set(pattern, made);
  return made;
}

/** What is wrong with a pattern, if anything. */
export function patternFault(pattern: string): string | undefined {
  const counts = [...pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].flatMap(([, least, most]) => [least, most]);
  if (counts.some((count) => Number(count ?? 0) > maxRepeats))
    return `a pattern repeats at most ${maxRepeats} times, as an answer has no more characters`;
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
