import { describe, expect, test } from 'vitest';
import { readAnswerStyle, readPageRequest, readRequest } from './requests.ts';

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

test.each([
  ['Draw a chart of the trees planted: June 120, July 310.5', 'June', 'July'],
  ['Dessine un graphique des arbres plantés : juin 120, juillet 310.5', 'juin', 'juillet'],
  ['Chora chati ya miti iliyopandwa: Juni 120, Julai 310.5', 'Juni', 'Julai'],
  ['ارسم مخططًا للأشجار المزروعة: يونيو 120، يوليو 310.5', 'يونيو', 'يوليو'],
])('%s', (text, first, second) => {
  expect(readRequest(text)).toMatchObject({
    tool: 'show_bars',
    args: {
      bars: [
        { label: first, value: 120 },
        { label: second, value: 310.5 },
      ],
    },
  });
});

test.each([
  ['Switch this page to the dark theme', 'dark'],
  ['Passe cette page au thème clair', 'light'],
  ['Badilisha ukurasa huu uwe na mandhari ya giza', 'dark'],
  ['حوّل هذه الصفحة إلى المظهر الداكن', 'dark'],
])('%s', (text, theme) => {
  expect(readRequest(text)).toMatchObject({ tool: 'set_page_theme', args: { theme } });
});

test.each(['What is a chart?', 'Draw a chart', 'Which theme is dark?', 'It is dark'])(
  '%s asks for no tool of the page',
  (text) => {
    expect(readPageRequest(text)).toBeUndefined();
  },
);

test.each([
  ['Retiens que je cultive du thé', 'je cultive du thé'],
  ['Kumbuka kwamba ninalima chai', 'ninalima chai'],
  ['تذكر أنني أزرع الشاي', 'أزرع الشاي'],
])('%s is remembered', (text, fact) => {
  expect(readRequest(text)).toMatchObject({ tool: 'remember', args: { text: fact } });
});

const requests: [string, Record<string, unknown>][] = [
  ['remind me to feed the goats in 10 minutes', { prompt: 'feed the goats', in: '10 minutes' }],
  ['Please remind me to be brief in an hour.', { prompt: 'be brief', in: '1 hour' }],
  ['In 2 days remind me about the rent', { prompt: 'the rent', in: '2 days' }],
  ['every Monday at 9 ask me how the goats are', { prompt: 'ask me how the goats are', cron: '0 9 * * 1' }],
  ['every day at 6:30 pm: remind me to close the gate', { prompt: 'close the gate', cron: '30 18 * * *' }],
  ['remind me to rest every weekday at 12 am', { prompt: 'rest', cron: '0 0 * * 1-5' }],
];

test.each(requests)('"%s" is scheduled', (text, args) => {
  expect(readRequest(text)).toMatchObject({ tool: 'schedule_task', args });
});

test.each([
  ['what are my tasks?', 'list_tasks'],
  ['list my reminders', 'list_tasks'],
  ['cancel task 01890a5d-ac96-774b-bcce-b302099a8057', 'cancel_task'],
])('"%s" calls %s', (text, tool) => {
  expect(readRequest(text)?.tool).toBe(tool);
});

test.each(['remind me', 'every Monday is hard', 'remind me to sleep'])('"%s" schedules nothing', (text) => {
  expect(readRequest(text)).toBeUndefined();
});
