import { waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { startAgent } from './agent-fixture.ts';
import { startService } from './service-fixture.ts';

test('beyond USSD_MAX_IN_FLIGHT callers read a sentence at once, and the others are served', async () => {
  await using agent = await startAgent();
  const gate = Promise.withResolvers<string>();
  agent.answer = () => gate.promise;
  await using service = await startService('sqlite', {
    AGENT_URL: agent.url,
    ASSISTANT_WAIT_MS: '60000',
    USSD_MAX_IN_FLIGHT: '3',
  });
  const waiting = [1, 2, 3].map((n) => service.say(`w${n}`, '4*Slow?', { phoneNumber: `+25470000010${n}` }));
  await waitFor('three questions at the agent', () => agent.asked.length === 3);
  const busy = 'END Many people are calling right now. Please dial again in a minute.';
  expect(await service.say('a', '')).toBe(busy);
  const arkesel = await fetch(`${service.url}/api/ussd/arkesel`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sessionID: 'x', userID: 'u', newSession: true, msisdn: '233544919953', userData: '*928#' }),
  });
  expect(await arkesel.json()).toMatchObject({ message: busy.slice(4), continueSession: false });
  expect((await service.get('/health')).status).toBe(200);
  gate.resolve('Forty-two');
  for (const reply of await Promise.all(waiting)) expect(reply).toContain('Forty-two');
  expect(await service.say('a', '')).toMatch(/^CON Welcome/);
  expect(await (await service.get('/metrics')).text()).toContain(
    'ussd_requests_total{outcome="shed",service="ussd"} 2',
  );
});
