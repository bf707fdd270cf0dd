import { expect, test } from 'vitest';
import { envCoin, parseCoin } from './coin.ts';

test.each([
  ['1000uixo', { amount: 1000n, denom: 'uixo' }],
  ['0uixo', { amount: 0n, denom: 'uixo' }],
  ['7ibc/27394FB092D2ECCD56123C74F36E4C1F', { amount: 7n, denom: 'ibc/27394FB092D2ECCD56123C74F36E4C1F' }],
  ['12factory/ixo1abc/carbon.credit-2:a_b', { amount: 12n, denom: 'factory/ixo1abc/carbon.credit-2:a_b' }],
  ['01uixo', undefined],
  ['1.5uixo', undefined],
  ['-1uixo', undefined],
  ['1u', undefined],
  ['uixo', undefined],
  ['1uixo,2uatom', undefined],
])('%s', (text, coin) => {
  expect(parseCoin(text)).toEqual(coin);
  expect(envCoin().safeParse(text).success).toBe(coin !== undefined && coin.amount > 0n);
});
