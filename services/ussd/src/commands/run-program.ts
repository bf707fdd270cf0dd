import type { Readable, Writable } from 'node:stream';
import type { Env } from '@palaver/service-kit';
import { runDial } from './dial.ts';
import type { Flow } from './flow.ts';
import { makePhoneNumber } from './flow-secrets.ts';
import type { ProgramFiles } from './load-programs.ts';
import { createPhone } from './phone.ts';
import { startTemporary } from './temporary-service.ts';

export interface ProgramRun extends ProgramFiles {
  env: Env;
  code?: string | undefined;
  phone?: string | undefined;
  input: Readable;
  output: Writable;
}

/** Dials a program in the terminal, on an empty database. Returns the dialogue, its secrets masked. */
export async function runProgram(run: ProgramRun): Promise<Pick<Flow, 'steps' | 'sms' | 'claims'>> {
  await using service = await startTemporary(run);
  const { code: serviceCode = service.serviceCode, phone: phoneNumber = makePhoneNumber(), input, output } = run;
  const phone = createPhone({ url: service.url, phoneNumber, serviceCode });
  const steps = await runDial({ phone, serviceCode, input, output });
  const messages = await service.messages();
  for (const { to, text } of messages)
    output.write(`SMS to ${to === phoneNumber ? 'the caller' : to} (not really sent): ${text}\n`);
  const sms = messages.filter(({ to }) => to === phoneNumber).map(({ text }) => text);
  const claims = service.claims(phoneNumber);
  for (const { claim, fields } of claims)
    output.write(`Claim ${claim} (not really filed): ${JSON.stringify(fields)}\n`);
  return { steps, ...(sms.length > 0 && { sms }), ...(claims.length > 0 && { claims }) };
}
