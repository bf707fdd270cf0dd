// The agent service against a bare Fastify route that pipes the same model stream, side by side: npm run bench:agent
// Single parts by name: npm run bench:agent -- turn streams. With TMPDIR on a memory disk no write waits for a sync.
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createInvocation, createSigner, createVerifier, type Signer } from '@palaver/ucan';
import { openBench, quantile } from '../harness.ts';
import { headersOf, type User } from './load.ts';
import type { Load, LoadResult } from './load-process.ts';

const capability = { can: 'oracle/chat', with: 'ixo:oracle' } as const;
const rows: { what: string; measured: string; target: string; met: boolean }[] = [];
const parts = { token: measureVerification, turn: measureHotPath, streams: measureStreams, sockets: measureSockets };

await using bench = openBench();
const wanted = process.argv.slice(2);
for (const [name, measure] of Object.entries(parts)) if (wanted.length === 0 || wanted.includes(name)) await measure();
console.table(rows);
process.exitCode = rows.every(({ met }) => met) ? 0 : 1;

/** A token that was never seen before. */
async function measureVerification(): Promise<void> {
  const [issuer, audience] = [await createSigner(), (await createSigner()).did()];
  const verifier = createVerifier({ audiences: [audience] });
  const times: number[] = [];
  for (let count = 0; count < 1_000; count += 1) {
    const token = await mint(issuer, audience);
    const startedAt = performance.now();
    const verdict = await verifier.verifyInvocation(token);
    times.push(performance.now() - startedAt);
    if (!verdict.ok) throw new Error(verdict.error.message);
  }
  report('first verification of a token, median', quantile(times.slice(200), 0.5), { unit: 'ms', most: 0.5 });
}

/** Turns of 200 tokens at 100 a second in 200 sessions, by turns with the bare route so that both see the same machine. */
async function measureHotPath(): Promise<void> {
  const tokens = 200;
  const servers = await Promise.all([startServer('agent', 100), startServer('bare', 100)]);
  const users = await createUsers(servers[0].url, 200);
  const { load } = await startLoad();
  const figures = servers.map(() => ({ cpu: [] as number[], firstByte: [] as number[] }));
  for (let round = 0; round < 6; round += 1) {
    for (const [index, { url, usage }] of servers.entries()) {
      const before = await usage();
      const { turns } = await load({ kind: 'turns', url, users, message: `/long ${tokens}`, atOnce: 100 });
      const after = await usage();
      if (turns.some((turn) => turn.tokens !== tokens || !turn.done)) throw new Error('tokens were lost');
      const alone = await load({ kind: 'turns', url, users: users.slice(0, 100), message: '/long 1', atOnce: 1 });
      if (round === 0) continue; // the compiler warms up
      figures[index]?.cpu.push((after.cpuMicros - before.cpuMicros) / 1_000 / turns.length);
      figures[index]?.firstByte.push(
        quantile(
          alone.turns.map(({ firstByteMs }) => firstByteMs),
          0.5,
        ),
      );
    }
  }
  for (const { stop } of servers) await stop();
  // The least disturbed round of each: whatever else runs on the machine can only add.
  const [own, bare] = figures.map(({ cpu, firstByte }) => ({
    cpu: Math.min(...cpu),
    firstByte: Math.min(...firstByte),
  }));
  if (!own || !bare) return;
  reportRatio(`CPU per turn of ${tokens} tokens`, own.cpu, bare.cpu);
  reportRatio('first byte, one turn at a time', own.firstByte, bare.firstByte);
}

async function measureStreams(): Promise<void> {
  const [count, tokens] = [1_000, 300];
  const server = await startServer('agent', 20);
  const users = await createUsers(server.url, count);
  const { load, stop } = await startLoad();
  await load({ kind: 'turns', url: server.url, users: users.slice(0, 200), message: 'hello', atOnce: 8 });
  const idle = await server.usage('held');
  const running = load({ kind: 'streams', url: server.url, users, message: `/long ${tokens}`, rampMs: 3_000 });
  await sleep(14_000);
  const live = await server.usage('held');
  const { turns, failed } = await running;
  await stop(); // its kept-alive connections would be counted
  await sleep(5_000);
  const ended = await server.usage('held');
  await server.stop();
  const whole = turns.filter(({ done, tokens: got }) => done && got === tokens).length;
  const p99 = quantile(
    turns.flatMap(({ gaps }) => gaps),
    0.99,
  );
  report(`1,000 turns at once: lost (${failed} failed)`, count - whole, { unit: '', most: 0 });
  report('1,000 turns at once: p99 gap between tokens', p99, { unit: 'ms', most: 150 });
  report('1,000 turns at once: held per live turn', (live.held - idle.held) / 1_000 / count, {
    unit: 'KB',
    most: 100,
  });
  note('  CPU of the process meanwhile', `${((ended.cpuMicros - idle.cpuMicros) / 18_000_000).toFixed(2)} cores`);
  note('  held per ended turn, kept for 5 minutes', `${((ended.held - idle.held) / 1_000 / count).toFixed(0)} KB`);
}

async function measureSockets(): Promise<void> {
  const count = 5_000;
  const server = await startServer('agent', 20);
  const users = await createUsers(server.url, count);
  const before = await server.usage('held');
  const { connected, failed } = await (await startLoad()).load({ kind: 'sockets', url: server.url, users });
  const after = await server.usage('held');
  await server.stop();
  report(`5,000 idle sockets: not connected (${connected} are)`, failed, { unit: '', most: 0 });
  report('5,000 idle sockets: memory of the process', after.rss / 1e6, { unit: 'MB', most: 400 });
  note('  of it before the first socket', `${(before.rss / 1e6).toFixed(0)} MB`);
}

function startServer(kind: 'agent' | 'bare', wordsPerSecond: number) {
  const env = {
    LOG_LEVEL: 'warn',
    SENDS_PER_MINUTE: '1000000',
    // All users come from this machine.
    SHARED_CLIENT_CIDRS: '127.0.0.0/8,::1',
    UCAN_AUTH_MAX_TTL_SECONDS: '3600',
    DATA_DIR: mkdtempSync(join(bench.dir, 'data-')),
    OFFLINE_WORDS_PER_SECOND: String(wordsPerSecond),
  };
  return kind === 'agent' ? bench.startService('agent', env) : bench.start('agent/bare-route.ts', { env });
}

async function startLoad() {
  const { ask, stop } = await bench.start('agent/load-process.ts');
  return { load: (load: Load) => ask<LoadResult>(load), stop };
}

async function createUsers(url: string, count: number): Promise<User[]> {
  const audience = ((await (await fetch(`${url}/.well-known/did.json`)).json()) as { id: string }).id;
  const tokens: string[] = [];
  for (let index = 0; index < Math.min(count, 100); index += 1) tokens.push(await mint(await createSigner(), audience));
  const users: User[] = [];
  while (users.length < count) {
    const batch = Array.from({ length: Math.min(50, count - users.length) }, async (_, index) => {
      const token = tokens[(users.length + index) % tokens.length] ?? '';
      const reply = await fetch(`${url}/sessions`, { method: 'POST', headers: headersOf(token) });
      return { token, sessionId: ((await reply.json()) as { sessionId: string }).sessionId };
    });
    users.push(...(await Promise.all(batch)));
  }
  return users;
}

async function mint(issuer: Signer, audience: string): Promise<string> {
  return (await createInvocation({ issuer, audience, capability, lifetimeSeconds: 800 })).serialized;
}

function report(what: string, value: number, { unit, most }: { unit: string; most: number }): void {
  const digits = value < 10 && unit !== '' ? 2 : 0;
  rows.push({
    what,
    measured: `${value.toFixed(digits)} ${unit}`,
    target: `at most ${most} ${unit}`,
    met: value <= most,
  });
  console.log(`${what}: ${rows.at(-1)?.measured}`);
}

function reportRatio(what: string, own: number, bare: number): void {
  const ratio = own / bare;
  const measured = `${own.toFixed(2)} ms / ${bare.toFixed(2)} ms = ${ratio.toFixed(2)}`;
  rows.push({ what: `${what}, agent / bare route`, measured, target: 'at most 1.50', met: ratio <= 1.5 });
  console.log(`${what}: ${measured}`);
}

function note(what: string, measured: string): void {
  rows.push({ what, measured, target: '', met: true });
}
