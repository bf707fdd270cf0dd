import { expect, test } from 'vitest';
import { planReply } from './offline-script.ts';

const reply = (user: string) => planReply({ system: '', user, tools: [], results: [] });

test.each([
  ['/long 1', 'word1'],
  ['/long 3', 'word1 word2 word3'],
  ['/long 002', 'word1 word2'],
])('%s is that many words, at the configured speed', (user, text) => {
  expect(reply(user)).toEqual({ text, toolCalls: [], paced: true });
});

test('counts no further than 100,000 words', () => {
  expect(reply('/long 999999').text.split(' ')).toHaveLength(100_000);
});

// An answer without a word is what a broken model gives; the turn would try again and fail.
test.each(['/long 0', '/long -5', '/long x', '/long', '/long 9999999', '/tool', '', '   '])(
  'always says something: %j',
  (user) => {
    expect(reply(user)).toMatchObject({ text: expect.stringMatching(/No language model/), toolCalls: [] });
    expect(reply(user).paced).toBeUndefined();
  },
);
