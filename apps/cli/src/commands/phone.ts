import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { defaultServiceCode } from '@palaver/contract/internal';
import { StartError } from '@palaver/service-kit';
import { fetchBounded, makeFolder, printable, toPrintableProse } from '@palaver/service-kit/internal';
import { runDial } from '@palaver/ussd/commands/dial';
import {
  type Flow,
  formatDifference,
  formatFlow,
  makePhoneNumber,
  parseFlow,
  replayFlow,
} from '@palaver/ussd/commands/flow';
import { createPhone, type Phone } from '@palaver/ussd/commands/phone';
import { type Command, InvalidArgumentError } from 'commander';
import { toServerUrl } from '../options.ts';
import { printJson } from '../table.ts';

interface PhoneOptions {
  phone?: string;
  code: string;
  secret?: string;
  token?: string;
}

const defaultUrl = 'http://127.0.0.1:3000';

export function addPhoneCommands(program: Command): void {
  withPhone(program.command('dial').description('dial any USSD server from a phone in the terminal'))
    .argument('[url]', 'address of the server', toServerUrl, defaultUrl)
    .action(async (url: string, options: PhoneOptions) => {
      await dial(url, options);
    });

  program
    .command('push')
    .description('start a program at a phone that has called before')
    .argument('<program>', 'name of the program')
    .argument('<number>', 'phone number, such as +254700000001')
    .option('--url <url>', 'address of the USSD gateway', toServerUrl, defaultUrl)
    .option('--by <way>', 'ussd or sms', 'ussd')
    .option('--token <token>', 'token of an operator with the role admin (default: OPERATOR_TOKEN)')
    .action((name: string, number: string, options: PushOptions) =>
      push(name, number, { token: process.env.OPERATOR_TOKEN, ...options }),
    );

  const flow = program.command('flow').description('record dialogues in files and replay them against any server');
  withPhone(flow.command('record').description('dial, and save the dialogue in a file'))
    .argument('<file>', 'file to write (YAML)')
    .argument('[url]', 'address of the server', toServerUrl, defaultUrl)
    .option('--name <name>', 'what the dialogue is about', 'recorded')
    .action(async (file: string, url: string, options: PhoneOptions & { name: string }) => {
      const write = prepareFlow(file);
      const { name, phone } = options;
      const steps = await dial(url, options);
      write({ name, ...(phone !== undefined && { phoneNumber: phone }), steps });
    });
  flow
    .command('replay')
    .description('replay dialogues; exit with status 1 if a reply differs')
    .argument('<files...>', 'recorded dialogues')
    .option('--url <url>', 'address of the server', toServerUrl, defaultUrl)
    .option('--phone <number>', 'number to call from (default: a new one for each file)')
    .option(
      '--answer <name=text>',
      'value of a masked answer in the files, such as secret=blue; repeatable',
      collectAnswer,
    )
    .option('--secret <secret>', 'sent as X-Gateway-Secret')
    .option('--json', 'print the results as JSON')
    .action(replay);
}

interface PushOptions {
  url: string;
  token?: string;
  by: string;
}

async function push(program: string, phoneNumber: string, { url, token, by }: PushOptions): Promise<void> {
  const response = await fetch(`${url}/api/ussd/push`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ program, phoneNumber, by }),
  }).catch((error: Error) => {
    throw new StartError(printable`${url} does not answer: ${error.message}`, { cause: error });
  });
  if (response.status === 202) return void process.stdout.write(printable`${program} was started at ${phoneNumber}\n`);
  const { message = response.statusText } = (await response.json().catch(() => ({}))) as { message?: string };
  throw new StartError(printable`It was not started: ${message}`);
}

function withPhone(command: Command): Command {
  return command
    .option('--phone <number>', 'number to call from (default: a new one)')
    .option('--code <code>', 'the service code to dial', defaultServiceCode)
    .option('--secret <secret>', 'sent as X-Gateway-Secret')
    .option('--token <token>', 'token of an operator; with it a recording masks exactly the secret answers');
}

function dial(url: string, { phone: number, code: serviceCode, secret, token }: PhoneOptions) {
  const phoneNumber = number ?? makePhoneNumber();
  const phone = withPlainFaults(createPhone({ url, fetch, phoneNumber, serviceCode, secret, operatorToken: token }));
  return runDial({ phone, serviceCode, input: process.stdin, output: process.stdout });
}

/** Any server may be dialled; its screens are short. */
const fetch = (url: string, init: RequestInit) => fetchBounded(url, { ...init, timeoutMs: 30_000 });

interface ReplayOptions {
  url: string;
  phone?: string;
  secret?: string;
  json?: boolean;
  answer?: Record<string, string>;
}

async function replay(files: string[], options: ReplayOptions): Promise<void> {
  const results = [];
  for (const file of files) {
    const flow = await loadFlow(file);
    const first = flow.steps[0];
    const serviceCode = first && 'dial' in first ? first.dial : defaultServiceCode;
    const phone = createPhone({
      url: options.url,
      fetch,
      phoneNumber: options.phone ?? flow.phoneNumber ?? makePhoneNumber(),
      serviceCode,
      secret: options.secret,
    });
    const result = await replayFlow(flow, withPlainFaults(phone), { answers: options.answer });
    results.push({ file, name: flow.name, ...result });
    if (options.json) continue;
    process.stdout.write(
      result.ok ? `ok    ${file}\n` : `DIFF  ${file}, ${toPrintableProse(formatDifference(result))}\n`,
    );
  }
  if (options.json) printJson(results);
  if (results.some(({ ok }) => !ok)) process.exitCode = 1;
}

const reasons: Record<string, string> = {
  ENOENT: 'there is no such file',
  EISDIR: 'this is a folder, not a file',
  EACCES: 'you may not read this file',
};

async function loadFlow(file: string): Promise<Flow> {
  try {
    return parseFlow(await readFile(file, 'utf8'));
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new StartError(`${file}: ${reasons[code] ?? message}`, { cause: error });
  }
}

/** A server that does not answer is reported in a sentence, without a stack. */
function withPlainFaults(phone: Phone): Phone {
  const plain = (error: Error): never => {
    const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
    throw new StartError(printable`The call failed: ${error.message}${cause}`, { cause: error });
  };
  return { ...phone, dial: (code) => phone.dial(code).catch(plain), send: (input) => phone.send(input).catch(plain) };
}

function collectAnswer(text: string, previous: Record<string, string> = {}): Record<string, string> {
  const [, name, answer] = /^(\w+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || answer === undefined) throw new InvalidArgumentError('expected a name, = and an answer');
  return { ...previous, [name]: answer };
}

/** Makes the file's folder before the dialogue starts, so that no recording is lost for want of it. */
export function prepareFlow(file: string): (flow: Flow) => void {
  refuse(file, () => makeFolder(dirname(file)));
  return (flow) => {
    refuse(file, () => writeFileSync(file, formatFlow(flow)));
    process.stderr.write(`${flow.steps.length} steps written to ${file}\n`);
  };
}

function refuse(file: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    throw new StartError(`${file} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}
