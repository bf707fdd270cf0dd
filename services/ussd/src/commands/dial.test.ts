import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { serviceCode, startService } from '../../test/service-fixture.ts';
import { runDial } from './dial.ts';
import { formatFlow, parseFlow, replayFlow } from './flow.ts';
import { createPhone } from './phone.ts';

test('a dialogue in the terminal is shown, recorded, and replays', async () => {
  await using service = await startService();
  const phoneFor = (phoneNumber: string) => createPhone({ url: service.url, phoneNumber, serviceCode });
  const output = new PassThrough({ encoding: 'utf8' });
  const input = Readable.from(['2\n', '1\n', 'Ana\n', '*\n', 'not asked for\n']);
  const steps = await runDial({ phone: phoneFor('+254700000001'), serviceCode, input, output });
  const shown = String(output.read());
  expect(shown).toContain('│ What is your name?                       │');
  expect(shown).toContain('(session ended)');
  expect(steps.map((step) => ('send' in step ? step.send : step.dial))).toEqual([serviceCode, '2', '1', 'Ana', '*']);
  const flow = parseFlow(formatFlow({ name: 'x', phoneNumber: '+254700000002', steps }));
  expect(await replayFlow(flow, phoneFor('+254700000002'))).toEqual({ ok: true });
});

test('hanging up ends the dialogue', async () => {
  await using service = await startService();
  const phone = createPhone({ url: service.url, phoneNumber: '+254700000001', serviceCode });
  const steps = await runDial({ phone, serviceCode, input: Readable.from(['1\n']), output: new PassThrough() });
  expect(steps).toHaveLength(2);
});

test('a server that refuses is told with its answer', async () => {
  await using service = await startService('sqlite', { USSD_SHARED_SECRET: 'hush' });
  const options = { url: service.url, phoneNumber: '+254700000001', serviceCode };
  await expect(createPhone(options).dial()).rejects.toThrow(/answered 403/);
  expect((await createPhone({ ...options, secret: 'hush' }).dial()).text).toContain('Welcome');
});
