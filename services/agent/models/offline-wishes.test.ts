import { expect, test } from 'vitest';
import { readWish } from './offline-wishes.ts';

const preferences: [string, Record<string, unknown>][] = [
  ['call me Ana', { userName: 'Ana' }],
  ['Please call me Ana and answer in French.', { userName: 'Ana', language: 'French' }],
  ["I'll call you Kito", { agentName: 'Kito' }],
  ['always answer in pt-BR', { language: 'pt-BR' }],
  ['be brief', { length: 'brief' }],
  ['be more formal', { formality: 'formal' }],
  ['sound friendly', { tone: 'friendly' }],
  ['use bullet points', { format: 'bullet points' }],
];

test.each(preferences)('"%s" is a wish about how to answer', (text, args) => {
  expect(readWish(text)).toMatchObject({ tool: 'set_user_preferences', args });
});

const memories: [string, string, Record<string, unknown>][] = [
  ['remember that I have three goats.', 'remember', { text: 'I have three goats' }],
  ['Please remember: call me back on Monday', 'remember', { text: 'call me back on Monday' }],
  ['what do you remember', 'recall', {}],
  ['What do you remember about goats?', 'recall', { query: 'goats' }],
  ['forget about the goats', 'forget', { query: 'the goats' }],
];

test.each(memories)('"%s" is for the memory', (text, tool, args) => {
  expect(readWish(text)).toMatchObject({ tool, args });
});

test.each(['hello', 'answer this in French', 'be brief just this once', 'I live in Nairobi', 'who are you?'])(
  '"%s" is no wish to keep',
  (text) => {
    expect(readWish(text)).toBeUndefined();
  },
);
