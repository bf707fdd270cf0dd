import { RE2JS } from '@bufbuild/re2';

const compiled = new Map<string, RE2JS>();

/** Matches in time that grows with the length of the text alone, whatever the pattern is. */
export function isFullMatch(pattern: string, text: string): boolean {
  const known = compiled.get(pattern) ?? RE2JS.compile(pattern);
  compiled.set(pattern, known);
  return known.matches(text);
}

/** What is wrong with a pattern, if anything. */
export function patternFault(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
