// A SIM in other hands: whoever dials from a number must not get what its account holder left there.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { engines } from '@palaver/test-kit';
import { describe, expect, test } from 'vitest';
import { startAgent } from './agent-fixture.ts';
import { register, startService } from './service-fixture.ts';

const askPin = 'CON Enter your PIN.\n0. Back\n*. Exit';
const askQuestion = 'CON What would you like to ask?\n0. Back\n*. Exit';

describe.each(engines)("someone else's SIM on %s", (engine) => {
  test('an account holder reaches the assistant with the PIN only, once for each session', async () => {
    await using agent = await startAgent();
    await using service = await startService(engine, { AGENT_URL: agent.url });
    await register(service, 'r');
    expect(await service.say('a', '4')).toBe(askPin);
    expect(await service.say('a', '4*9990')).toContain('Tries left - 2');
    expect(await service.say('a', '4*9990*4071')).toBe(askQuestion);
    expect(await service.say('a', '4*9990*4071*How deep?')).toContain('You asked: How deep?');
    expect(await service.say('a', '4*9990*4071*How deep?*0*4')).toBe(askQuestion);
    // Reports and balance follow from the same login.
    expect(await service.say('a', '4*9990*4071*How deep?*0*2*1')).toContain('Name: Ana');
    expect(await service.say('b', '4')).toBe(askPin);
    // An answer that nobody has looked at yet is the holder's too.
    expect(await service.say('b', '4*What did I ask?')).toContain('A PIN has 4 to 6 digits.');
    expect(agent.asked.map(({ message }) => message)).toEqual(['How deep?']);
  });

  test('a caller without an account may ask, and whoever registers asks with the PIN from then on', async () => {
    await using agent = await startAgent();
    await using service = await startService(engine, { AGENT_URL: agent.url });
    expect(await service.say('a', '4')).toBe(askQuestion);
    expect(await service.say('a', '4*Before?')).toContain('You asked: Before?');
    await register(service, 'r');
    // Not even a session that was open before continues without it.
    expect(await service.say('a', '4*Before?*1*And now?')).toContain('The assistant cannot be reached');
    expect(await service.say('b', '4')).toBe(askPin);
    expect(agent.asked.map(({ message }) => message)).toEqual(['Before?']);
  });
});

interface Hook {
  url: string;
  requests: { body: unknown; authorization: string | undefined }[];
  /** What the server answers; `undefined` never answers. */
  answer: { status: number; body: string } | undefined;
  [Symbol.asyncDispose](): Promise<void>;
}

async function startHook(): Promise<Hook> {
  const hook: Hook = {
    url: '',
    requests: [],
    answer: { status: 200, body: '{"swapped":false}' },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    hook.requests.push({ body: JSON.parse(body), authorization: request.headers.authorization });
    if (hook.answer) response.writeHead(hook.answer.status).end(hook.answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  hook.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/check`;
  return hook;
}

describe('the SIM swap check', () => {
  const refused = 'Your SIM was changed recently. Please come to the office.';

  test('is asked before a PIN is checked, and vetoes', async () => {
    await using hook = await startHook();
    await using service = await startService('sqlite', {
      USSD_SIM_SWAP_URL: hook.url,
      USSD_SIM_SWAP_TOKEN: 'hook-token',
    });
    await register(service, 'r');
    expect(hook.requests).toEqual([]);
    expect(await service.say('a', '2*2*4071')).toContain('Welcome back, Ana!');
    const body = { phoneNumber: '+254700000001', maxAge: 240 };
    expect(hook.requests).toEqual([{ body, authorization: 'Bearer hook-token' }]);
    hook.answer = { status: 200, body: '{"swapped":true}' };
    expect(await service.say('b', '2*2*4071')).toContain(refused);
    expect(await service.say('c', '3*1*5*4071')).toContain(refused);
    // A retry of the telecom gateway does not ask again, and a wrong PIN is answered like a right one.
    expect(await service.say('c', '3*1*5*4071')).toContain(refused);
    expect(await service.say('d', '2*2*9990')).toContain(refused);
    expect(hook.requests).toHaveLength(4);
    hook.answer = { status: 200, body: '{"swapped":false}' };
    expect(await service.say('e', '2*2*9990')).toContain('Tries left - 2');
    const metrics = await (await service.get('/metrics')).text();
    expect(metrics).toContain('ussd_sim_swap_checks_total{result="swapped",service="ussd"} 3');
  });

  const faults: Record<string, Hook['answer']> = {
    'an error': { status: 500, body: '{"swapped":false}' },
    nonsense: { status: 200, body: '<html>' },
    'an answer without a verdict': { status: 200, body: '{}' },
    'no answer': undefined,
  };
  test.each(Object.entries(faults))('%s counts as USSD_SIM_SWAP_ON_FAULT says', async (_, answer) => {
    await using hook = await startHook();
    await using service = await startService('sqlite', { USSD_SIM_SWAP_URL: hook.url });
    const strict = await service.startAnother({ USSD_SIM_SWAP_ON_FAULT: 'refuse' });
    await register(service, 'r');
    hook.answer = answer;
    expect(await service.say('a', '2*2*4071')).toContain('Welcome back, Ana!');
    expect(await strict.say('b', '2*2*4071')).toContain(refused);
    const metrics = await (await service.get('/metrics')).text();
    expect(metrics).toContain('ussd_sim_swap_checks_total{result="failed",service="ussd"} 1');
  });
});
