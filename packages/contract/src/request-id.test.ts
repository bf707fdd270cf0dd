import { expect, test } from 'vitest';
import { isRequestId } from './request-id.ts';

test.each(['a', 'req 1/2~', '~'.repeat(128)])('%j is taken over', (value) => {
  expect(isRequestId(value)).toBe(true);
});

test.each([undefined, null, 5, ['a'], '', 'a'.repeat(129), 'a\nb', 'a\r\n', 'é', '\u007f', '\t'])(
  '%j is replaced',
  (value) => {
    expect(isRequestId(value)).toBe(false);
  },
);
