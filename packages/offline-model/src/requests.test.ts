import { describe, expect, test } from 'vitest';
import { readAnswerStyle, readRequest } from './requests.ts';

const preferences: [string, Record<string, unknown>][] = [
  ['call me Ana', { userName: 'Ana' }],
  ['Call me Ana!', { userName: 'Ana' }],
  ['Please call me Ana and answer in French.', { userName: 'Ana', language: 'French' }],
  ['From now on, call me Ana', { userName: 'Ana' }],
  ["I'll call you Kito", { agentName: 'Kito' }],
  ['your name is Kito', { agentName: 'Kito' }],
  ['from now on answer in French', { language: 'French' }],
  ['From now on speak Swahili', { language: 'Swahili' }],
  ['From now on, please speak to me in Swahili.', { language: 'Swahili' }],
  ['always answer in pt-BR', { language: 'pt-BR' }],
  ['Always reply in German, please', { language: 'German' }],
  ['always be brief', { length: 'brief' }],
  ['From now on keep your answers short', { length: 'short' }],
  ['In future be more formal', { formality: 'formal' }],
  ['from now on sound friendly', { tone: 'friendly' }],
  ['always use bullet points', { format: 'bullet points' }],
  ['From now on be brief. What is an entity?', { length: 'brief' }],
];

test.each(preferences)('"%s" is kept', (text, args) => {
  expect(readRequest(text)).toEqual(expect.objectContaining({ tool: 'set_user_preferences', args }));
});

const memories: [string, string, Record<string, unknown>][] = [
  ['remember that I have three goats.', 'remember', { text: 'I have three goats' }],
  ['Please remember: call me back on Monday', 'remember', { text: 'call me back on Monday' }],
  ['what do you remember', 'recall', {}],
  ['What do you remember?', 'recall', {}],
  ['What do you remember about goats?', 'recall', { query: 'goats' }],
  ['forget about the goats', 'forget', { query: 'the goats' }],
];

test.each(memories)('"%s" is for the memory', (text, tool, args) => {
  expect(readRequest(text)).toMatchObject({ tool, args });
});

describe('nothing is kept of', () => {
  test.each([
    'hello',
    'I live in Nairobi',
    // For this answer alone.
    'be brief',
    'Be brief: what is an entity?',
    'Answer in French: what is a claim?',
    'answer this in French',
    'Speak Swahili',
    'use bullet points',
    'be brief just this once',
    'from now on be brief, but only this once',
    'sound friendly',
    // Questions.
    'who are you?',
    'Why do you always answer in French?',
    'Can you always be brief?',
    'could you call me Ana',
    'should I call you Kito',
    'Do you remember that I have goats?',
    'Remember that I have goats?',
    'What does "from now on speak Swahili" mean?',
    'how do I forget about it',
    // The words have another sense here.
    'call me later',
    'call me back on Monday',
    'the doctor will call me tomorrow',
    'my bank asked me to always be brief with strangers?',
    'from now on do not be brief',
    'never answer in French',
    'always answer in short sentences about goats in Paris',
    'from now on answer in detail',
    'I always speak in public',
  ])('"%s"', (text) => {
    expect(readRequest(text)).toBeUndefined();
  });
});

test.each([
  ['Be brief: what is an entity?', { length: 'brief' }],
  ['be brief', { length: 'brief' }],
  ['answer this in French', { language: 'French' }],
  ['Answer in French: what is a claim?', { language: 'French' }],
  ['Speak Swahili', { language: 'Swahili' }],
  ['what is a claim?', {}],
  ['do not answer in French', {}],
])('"%s" asks of this answer %j', (text, style) => {
  expect(readAnswerStyle(text)).toEqual(style);
});
