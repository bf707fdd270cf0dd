import { expect, test } from 'vitest';
import { readRequest } from './requests.ts';

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
