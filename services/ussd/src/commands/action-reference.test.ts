import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { toActionReference } from './action-reference.ts';

test('docs/ussd-actions.md is what the code says', () => {
  const file = new URL('../../../../docs/ussd-actions.md', import.meta.url);
  expect(readFileSync(file, 'utf8')).toBe(toActionReference());
});
