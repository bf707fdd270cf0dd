import { expect, test } from 'vitest';
import { findTarget } from './protocol.ts';

test.each([
  ['did:ixo:entity:48f0c7df9986c3e0b2bdc7c37dd40276', 'entities'],
  [' 43419106 ', 'block'],
  ['A5F0'.repeat(16), 'tx'],
  ['ixo1gwwczvdkj2d72zz5mp3spptsc0q8zfzaq0z35j', 'account'],
  ['bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy', 'claim'],
])('%s is shown on the page %s', (text, page) => {
  expect(findTarget(text)).toBe(`/explorer?page=${page}&id=${encodeURIComponent(text.trim())}`);
});

test.each(['Lakeshore', 'water committee', '', 'ixo1', 'did:'])('%j may be a name', (text) => {
  expect(findTarget(text)).toBeUndefined();
});
