import { expect, test } from 'vitest';
import { load, play } from '../../test/play-program.ts';

const list = `[${Array.from({ length: 100 }, (_, i) => i).join(', ')}]`;
const count = 'size(l.filter(x, l.exists(y, x == 1000)))';

/** A program whose first key leads through that many loops of 10,000 rounds. */
function withLoops(loops: number) {
  const states = Array.from({ length: loops }, (_, i) => {
    const to = i + 1 < loops ? `s${i + 1}` : 'done';
    return `  s${i}: { kind: set, values: { n: "${count}" }, to: ${to} }`;
  });
  return load(
    `
  home: { kind: menu, text: home, options: [{ text: go, to: s }] }
  s: { kind: set, values: { l: "${list}" }, to: s0 }
${states.join('\n')}
  done: { kind: page, text: done }
  bye: { kind: end, text: bye }
`,
    "home: Home\ngo: Go\ndone: 'Found {n}'\nbye: Bye\n",
  );
}

test('the loops of all states that a key leads through have one budget', () => {
  expect(play(withLoops(1), ['1'])).toMatch(/^Found 0/);
  expect(() => play(withLoops(12), ['1'])).toThrow(/the loops of the expression size.* take too long/);
});
