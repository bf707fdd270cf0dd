import { waitFor } from '@palaver/test-kit';
import { expect, test } from 'vitest';
import { startAgent } from './agent-fixture.ts';
import { startService } from './service-fixture.ts';
import { startSmsc } from './smsc.ts';

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

test('over SMPP, where an input may be answered late, one that comes beyond the bound waits', async () => {
  await using agent = await startAgent();
  await using smsc = await startSmsc();
  const gate = Promise.withResolvers<string>();
  agent.answer = () => gate.promise;
  await using service = await startService('sqlite', {
    AGENT_URL: agent.url,
    ASSISTANT_WAIT_MS: '60000',
    USSD_MAX_IN_FLIGHT: '1',
    SMPP_LINKS: smsc.url,
  });
  const dialled = { ussd_service_op: 1, short_message: '*1234#' };
  await smsc.press(dialled);
  await smsc.press({ short_message: '4' });
  const asked = smsc.deliver({ ussd_service_op: 18, short_message: 'Slow?' });
  await waitFor('the question', () => agent.asked.length === 1);
  const other = smsc.deliver({ ...dialled, source_addr: '254700000002' });
  expect((await service.get('/health')).status).toBe(200);
  gate.resolve('Forty-two');
  expect((await asked).command_status).toBe(0);
  expect((await other).command_status).toBe(0);
  await waitFor('both screens', () => smsc.submitted.length === 4);
  const screenOf = (phone: string) => smsc.submitted.findLast((pdu) => pdu.destination_addr === phone)?.short_message;
  expect(screenOf('254700000001')?.message).toContain('Forty-two');
  expect(screenOf('254700000002')?.message).toMatch(/^Welcome/);
});
