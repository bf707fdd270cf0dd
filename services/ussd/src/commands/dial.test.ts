import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { serviceCode, startService } from '../../test/service-fixture.ts';
import { runDial } from './dial.ts';
import { formatFlow, makePhoneNumber, parseFlow, replayFlow } from './flow.ts';
import { createPhone } from './phone.ts';

test('a dialogue in the terminal is shown, recorded, and replays', async () => {
  await using service = await startService();
  const phoneFor = (phoneNumber: string) => createPhone({ url: service.url, phoneNumber, serviceCode });
  const output = new PassThrough({ encoding: 'utf8' });
  const input = Readable.from(['2\n', '1\n', 'Ana\n', '407192\n', '407192\n', '*\n', 'not asked for\n']);
  const steps = await runDial({ phone: phoneFor('+254700000001'), serviceCode, input, output });
  const shown = String(output.read());
  expect(shown).toContain('│ What is your name?                       │');
  expect(shown).toContain('(session ended)');
  expect(steps.map((step) => ('send' in step ? step.send : step.dial))).toEqual([
    ...[serviceCode, '2', '1', 'Ana'],
    ...['{{pin}}', '{{pin}}', '*'],
  ]);
  const file = formatFlow({ name: 'x', steps });
  expect(file).not.toContain('407192');
  // Each replay is a new caller with a new PIN.
  for (let i = 0; i < 2; i++)
    expect(await replayFlow(parseFlow(file), phoneFor(makePhoneNumber()))).toMatchObject({ ok: true });
});

test('a screen of another server cannot steer the terminal', async () => {
  const text = 'Hello\u001b]0;owned\u0007\u001b[2J\r\u202eback\u009b31m';
  const phone = {
    sessionId: () => 'x',
    dial: async () => ({ text, ended: true }),
    send: async () => ({ text, ended: true }),
    asksSecret: async () => false,
  };
  const output = new PassThrough({ encoding: 'utf8' });
  const steps = await runDial({ phone, serviceCode, input: Readable.from([]), output });
  expect(String(output.read())).not.toMatch(/[^\P{C}\n]/u);
  expect(steps).toEqual([{ dial: serviceCode, reply: `END ${text}` }]);
});

test('hanging up ends the dialogue', async () => {
  await using service = await startService();
  const phone = createPhone({ url: service.url, phoneNumber: '+254700000001', serviceCode });
  const steps = await runDial({ phone, serviceCode, input: Readable.from(['1\n']), output: new PassThrough() });
  expect(steps).toHaveLength(2);
});

test.each([
  ['hello: 1', 'name is missing; steps is missing; there is no field hello here'],
  ['name: x\nstps: []', 'steps is missing; there is no field stps here (did you mean steps?)'],
  ['name: x\nsteps: all', 'steps: must be a list'],
  ['just words', 'name and steps are missing'],
  ['', 'name and steps are missing'],
  ['steps: [\n  - : :', 'line 2 is not valid YAML'],
])('a file that is not a flow, %j, is refused in plain words', (source, reason) => {
  expect(() => parseFlow(source)).toThrow(`This is not a flow file: ${reason}`);
});

test('the answer of a server that refuses is shown', async () => {
  await using service = await startService('sqlite', { USSD_SHARED_SECRET: 'hush' });
  const options = { url: service.url, phoneNumber: '+254700000001', serviceCode };
  await expect(createPhone(options).dial()).rejects.toThrow(/answered 403/);
  expect((await createPhone({ ...options, secret: 'hush' }).dial()).text).toContain('Welcome');
});

test('where the server does not say what is secret, answers of 4 to 6 digits are masked', async () => {
  await using service = await startService('sqlite', { OPERATOR_TOKEN: 'o'.repeat(32) });
  const options = { url: service.url, phoneNumber: '+254700000001', serviceCode };
  const record = async (operatorToken?: string) => {
    const input = Readable.from(['5000\n', '2\n', '1\n', 'Ana\n', '4071\n']);
    const phone = createPhone({ ...options, operatorToken });
    const steps = await runDial({ phone, serviceCode, input, output: new PassThrough() });
    return steps.slice(1).map((step) => 'send' in step && step.send);
  };
  expect(await record()).toEqual(['{{pin}}', '2', '1', 'Ana', '{{pin2}}']);
  expect(await record('o'.repeat(32))).toEqual(['5000', '2', '1', 'Ana', '{{pin}}']);
  await expect(
    replayFlow({ name: 'x', steps: [{ send: '{{secret}}', reply: '' }] }, createPhone(options)),
  ).rejects.toThrow('The answer {{secret}} is not in the file');
});
