import { expect, test } from 'vitest';
import { envCoin, formatCoin, parseCoin } from './signing-account.ts';

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

test.each([
  [{ denom: 'uixo', amount: '38500000' }, '38.5 IXO'],
  [{ denom: 'uixo', amount: '1' }, '0.000001 IXO'],
  [{ denom: 'uixo', amount: '0' }, '0 IXO'],
  [{ denom: 'ibc/BFF0D3805B50D93E', amount: '42' }, '42 ibc/BFF0D3'],
  [{ denom: 'carbon', amount: '7' }, '7 carbon'],
])('%j is shown as %s', (coin, shown) => {
  expect(formatCoin(coin)).toBe(shown);
});
