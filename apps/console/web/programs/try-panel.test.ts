import { parseFlow } from '@palaver/ussd/commands/flow';
import { expect, test } from 'vitest';
import { addFlow } from './try-panel.tsx';

test('a call becomes a file that tests read, beside those that exist, without PINs', async () => {
  const steps = [
    { sent: '', reply: 'CON Welcome\n1. Log in' },
    { sent: '1', reply: 'CON Your PIN' },
    { sent: '4071', reply: 'END Hello' },
  ];
  const first = await addFlow({}, { name: 'Logging in: Ana!', code: '*384*5#', steps });
  expect(first.path).toBe('flows/logging-in-ana.yaml');
  expect(parseFlow(first.files[first.path] ?? '')).toEqual({
    name: 'Logging in: Ana!',
    steps: [
      { dial: '*384*5#', reply: 'CON Welcome\n1. Log in' },
      { send: '1', reply: 'CON Your PIN' },
      { send: '{{pin}}', reply: 'END Hello' },
    ],
  });
  const second = await addFlow(first.files, { name: 'Logging in: Ana!', code: '*384*5#', steps });
  expect(Object.keys(second.files)).toEqual([first.path, 'flows/logging-in-ana-2.yaml']);
});
