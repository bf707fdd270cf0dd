import { phoneNote } from '@palaver/contract/internal';
import { expect, test } from 'vitest';
import { planReply } from './script.ts';

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

const tools = [{ name: 'set_user_preferences', description: 'Saves preferences.' }];

test('a request for one answer is followed at once and not saved', () => {
  const ask = (user: string) => planReply({ system: '', user, tools, results: [] });
  const brief = ask('Be brief: what is an entity?');
  expect(brief).toMatchObject({ toolCalls: [], text: expect.stringMatching(/^No language model is configured; set/) });
  expect(ask('Answer in French: what is a claim?').text).toMatch(/^Aucun modèle de langage/);
  expect(ask('what is a claim?').text).toMatch(/^No language model is configured, so I can/);
  expect(ask('From now on speak Swahili').toolCalls).toEqual([
    { name: 'set_user_preferences', args: { language: 'Swahili' } },
  ]);
});

test.each(['en', 'fr', 'sw'])('on a phone it mentions no variables and no tools, in %s', (language) => {
  const system = `You are Palaver.\n${phoneNote}\n- Answer in: ${language}`;
  for (const user of ['what is an entity?', 'help', 'Be brief: what is a claim?']) {
    const { text } = planReply({ system, user, tools, results: [] });
    expect(text).not.toMatch(/[A-Z]+_[A-Z]+|\/tool|set_user_preferences|json/);
    expect(text).toContain('call me Ana');
  }
  const failed = { name: 'set_user_preferences', output: { code: 'TOOL_FAILED' }, failed: true };
  const unknown = { name: 'mcp__look_up', output: { rows: [1] }, failed: false };
  for (const result of [failed, unknown]) {
    const { text } = planReply({ system, user: 'call me Ana', tools, results: [result] });
    expect(text).toMatch(/^[^_{}]{4,60}$/);
  }
  expect(planReply({ system, user: '/tool set_user_preferences {}', tools, results: [] }).toolCalls).toEqual([]);
});
