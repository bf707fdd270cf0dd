import type { Readable, Writable } from 'node:stream';
import { parseJson } from '@palaver/program/internal';
import type { Env } from '@palaver/service-kit';
import { type AskServer, guardedRequest } from '../actions/http-actions.ts';
import type { ProgramFiles } from './check-programs.ts';
import { runDial } from './dial.ts';
import { type Flow, makePhoneNumber } from './flow.ts';
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
export async function runProgram(run: ProgramRun): Promise<Omit<Flow, 'name'>> {
  const http: HttpAnswer[] = [];
  await using service = await startTemporary({ ...run, servers: { ask: recordAnswers(http) } });
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
  return {
    ...(http.length > 0 && { http }),
    steps,
    ...(sms.length > 0 && { sms }),
    ...(claims.length > 0 && { claims }),
  };
}

type HttpAnswer = NonNullable<Flow['http']>[number];

/** Asks the server itself and keeps what it answers. A dialogue has one answer for each address: the first. */
function recordAnswers(answers: HttpAnswer[]): AskServer {
  return async (request) => {
    const answer = await guardedRequest(request);
    const { href } = request.url;
    const isKnown = answers.some(({ get, post }) => (request.method === 'GET' ? get : post) === href);
    if ('status' in answer && !isKnown) {
      const asked = request.method === 'GET' ? { get: href } : { post: href };
      answers.push({ ...asked, status: answer.status, json: parseJson(answer.body.trim()) });
    }
    return answer;
  };
}
