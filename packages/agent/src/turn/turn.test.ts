import fc from 'fast-check';
import { expect, test } from 'vitest';
import { skipSent } from '../turn/turn.ts';

function replay(said: string, deltas: string[]): string {
  let streamed = said;
  const onText = skipSent(said, '\n\n', (delta) => {
    streamed += delta;
  });
  for (const delta of deltas) onText(delta);
  return streamed;
}

test('what is repeated word for word is streamed once, however it is cut', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), fc.nat(), (deltas, at) => {
      const whole = deltas.join('');
      const said = whole.slice(0, at % (whole.length + 1));
      expect(replay(said, deltas)).toBe(whole);
    }),
  );
});

test('what differs follows whole', () => {
  expect(replay('one two', ['one ', 'three'])).toBe('one two\n\none three');
  expect(replay('one', [])).toBe('one');
});
