import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { toPrintableProse } from '@palaver/service-kit/internal';
import { type FlowStep, maskSecrets } from './flow.ts';
import { formatReply, type Phone, type Reply } from './phone.ts';

export interface DialOptions {
  phone: Phone;
  serviceCode: string;
  input: Readable;
  output: Writable;
}

/** A phone in the terminal. Returns the dialogue, its secrets masked. */
export async function runDial({ phone, serviceCode, input, output }: DialOptions): Promise<FlowStep[]> {
  const steps: FlowStep[] = [];
  const secret: (boolean | undefined)[] = [false];
  const lines = createInterface({ input })[Symbol.asyncIterator]();
  output.write(`Dialling ${serviceCode} (Ctrl-D hangs up)\n`);
  let reply = await phone.dial();
  steps.push({ dial: serviceCode, reply: formatReply(reply) });
  output.write(`${drawScreen(reply)}\n`);
  while (!reply.ended) {
    output.write('> ');
    const line = await lines.next();
    if (line.done) {
      output.write('\n');
      break;
    }
    secret.push(await phone.asksSecret());
    reply = await phone.send(line.value.trim());
    steps.push({ send: line.value.trim(), reply: formatReply(reply) });
    output.write(`${drawScreen(reply)}\n`);
  }
  return maskSecrets(steps, secret);
}

const screenWidth = 40;

function drawScreen({ text, ended }: Reply): string {
  const lines = toPrintableProse(text).split('\n').flatMap(wrap);
  const edge = '─'.repeat(screenWidth + 2);
  const rows = lines.map((line) => `│ ${line.padEnd(screenWidth)} │`);
  return [`┌${edge}┐`, ...rows, `└${edge}┘`, ...(ended ? ['(session ended)'] : [])].join('\n');
}

function wrap(line: string): string[] {
  const rows = [''];
  for (const word of line.split(' ')) {
    const last = rows.at(-1) ?? '';
    if (last !== '' && last.length + 1 + word.length > screenWidth) rows.push(word);
    else rows[rows.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return rows.flatMap((row) => row.match(new RegExp(`.{1,${screenWidth}}`, 'gu')) ?? ['']);
}
