import { readdirSync, readFileSync } from 'node:fs';
import { engines } from '@palaver/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatFlow, makePhoneNumber, parseFlow, replayFlow } from '../src/commands/flow.ts';
import { createPhone } from '../src/commands/phone.ts';
import { serviceCode, startService, type TestService } from './service-fixture.ts';

const folder = new URL('../flows/', import.meta.url);
const flows = readdirSync(folder).map((file) => ({
  file,
  flow: parseFlow(readFileSync(new URL(file, folder), 'utf8')),
}));

describe.each(engines)('recorded dialogues on %s', (engine) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(engine);
  });
  afterAll(() => service[Symbol.asyncDispose]());

  test.each(flows)('$file: $flow.name', async ({ flow }) => {
    const phone = createPhone({ url: service.url, phoneNumber: makePhoneNumber(), serviceCode });
    expect(await replayFlow(flow, phone)).toMatchObject({ ok: true });
  });
});

test('a reply that differs is reported with its step', async () => {
  await using service = await startService();
  const phone = createPhone({ url: service.url, phoneNumber: '+254700000999', serviceCode });
  const steps = [
    {
      dial: serviceCode,
      reply: 'CON {{greeting}}\n1. About the service\n2. My account\n3. {{third}}\n{{fourth}}\n{{fifth}}\n*. Exit',
    },
    { send: '*', reply: 'END Come again' },
  ];
  const flow = parseFlow(formatFlow({ name: 'wrong', steps }));
  expect(await replayFlow(flow, phone)).toEqual({
    ok: false,
    step: 2,
    sent: '*',
    expected: 'END Come again',
    received: 'END Thank you for using Palaver. Goodbye.',
  });
});

test('a file that is no flow is refused', () => {
  expect(() => parseFlow('name: x\nsteps: []')).toThrow('This is not a flow file: steps: ');
  expect(() => parseFlow('name: x\nsteps: [')).toThrow('This is not a flow file: line 2 is not valid YAML');
  expect(() => parseFlow('')).toThrow('This is not a flow file: ');
});
