import { expect, test } from 'vitest';
import { envPrices, toCost } from './credits-prices.ts';

const prices = { small: { input: 1, output: 2 }, '*': { input: 10, output: 20 } };

test.each([
  ['small', 0, 0, 0],
  ['small', 1, 0, 1],
  ['small', 1000, 0, 1],
  ['small', 1000, 500, 2],
  ['small', 1001, 500, 3],
  ['other', 1000, 1000, 30],
])('%s: %i in, %i out cost %i', (model, inputTokens, outputTokens, cost) => {
  expect(toCost(prices, { [model]: { inputTokens, outputTokens } })).toBe(cost);
});

test('an answer of a free model costs at least one credit, none where no model was used', () => {
  const free = { '*': { input: 0, output: 0 } };
  expect(toCost(free, { m: { inputTokens: 5, outputTokens: 5 } })).toBe(1);
  expect(toCost(free, {})).toBe(0);
});

test('each model has its own price, and the whole is rounded up once', () => {
  const some = { inputTokens: 100, outputTokens: 0 };
  expect(toCost(prices, { small: some, other: some })).toBe(2);
});

test('a price list is read from JSON', () => {
  expect(envPrices().parse(JSON.stringify(prices))).toEqual(prices);
});

test.each(['', '{', '[]', '{}', '{"a":{"input":1,"output":1}}', '{"*":{"input":-1,"output":1}}', '{"*":1}'])(
  '%j is not a price list',
  (text) => {
    expect(envPrices().safeParse(text).error?.issues[0]?.message).toContain('credits per 1,000 tokens');
  },
);
