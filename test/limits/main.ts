// `npm run limits:agent`: what a few users may try against the agent's memory, while another user chats. The agent has 1 GiB,
// as in the chart. `npm run limits:agent -- --only delegations --keys 1` runs a part. The exit code is 1 if the agent ended,
// or a message of the other user was not answered, or one in a hundred took a second or more.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Case, cases } from './cases.ts';
import type { Chat } from './chat-process.ts';
import { createKey, type Statuses } from './key.ts';
import { describeLimit, limitBytes, startLimitedAgent } from './limited-agent.ts';

const longestMs = 1_000;
const { values } = parseArgs({ options: { only: { type: 'string' }, keys: { type: 'string' } } });
const only = new RegExp(values.only ?? '', 'i');
const counts = (values.keys ?? '1,200').split(',').map(Number);

const head = ['Case', 'Keys', 'Requests', 'Statuses', 'Max RSS', 'Chat p50', 'Chat p99', ''];
const rows: string[][] = [];
for (const one of cases.filter(({ name }) => only.test(name))) {
  for (const count of counts) {
    process.stderr.write(`${one.name}, ${count} ${count === 1 ? 'key' : 'keys'} …\n`);
    rows.push(await run(one, count));
    process.stderr.write(`  ${rows.at(-1)?.slice(2).join(' | ')}\n`);
  }
}
const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
const toLine = (cells: string[]) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
console.log([toLine(head), toLine(widths.map((width) => '-'.repeat(width))), ...rows.map(toLine)].join('\n'));
console.log(`\nThe limit: ${describeLimit()}.`);
process.exit(rows.every((row) => row.at(-1) === 'met') ? 0 : 1);

async function run({ name, prepare, attack }: Case, count: number): Promise<string[]> {
  await using agent = await startLimitedAgent();
  const statuses: Statuses = new Map();
  const keys = await Promise.all(Array.from({ length: count }, () => createKey(agent.url, agent.did, statuses)));
  const share = (ofOne: number, ofMany: number) => (count === 1 ? ofOne : ofMany);
  const world = { url: agent.url, did: agent.did, keys, share };
  const prepared = await prepare?.(world);
  const chat = fork(fileURLToPath(new URL('chat-process.ts', import.meta.url)), [agent.url, agent.did]);
  await once(chat, 'message');
  await attack(world, prepared as never);
  const maxRss = agent.maxRss();
  chat.send('stop');
  const [{ times, failures }] = (await once(chat, 'message')) as [Chat];
  chat.disconnect();
  const sorted = times.toSorted((a, b) => a - b);
  const [p50, p99] = [0.5, 0.99].map((part) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN) as [
    number,
    number,
  ];
  const faults = [
    agent.ended() !== undefined && `ended by ${agent.ended()}`,
    maxRss > limitBytes && 'more than 1 GiB',
    failures.length > 0 && `${failures.length} of ${times.length} messages failed: ${failures[0]}`,
    !(p99 < longestMs) && 'slow',
  ].filter((fault) => typeof fault === 'string');
  return [
    name,
    String(count),
    String([...statuses.values()].reduce((sum, of) => sum + of, 0)),
    [...statuses]
      .sort(([a], [b]) => a - b)
      .map(([status, of]) => `${status === 0 ? 'none' : status} x ${of}`)
      .join(', '),
    `${Math.round(maxRss / 1024 ** 2)} MiB`,
    `${Math.round(p50)} ms`,
    `${Math.round(p99)} ms`,
    faults.join('; ').replaceAll(/\s+/g, ' ') || 'met',
  ];
}
