// Simulates runs: `npm run simulate -- --seeds 10000` carries out so many schedules and prints what they covered,
// `--seed 7` one with everything that happened. `--from` is the first seed; `--resume` continues where the last one ended;
// `--workers` is how many processes share the work.
import { fork } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { transitions } from '../../src/runs/transitions.ts';
import { simulate } from './simulate.ts';

interface Report {
  seeds: number;
  steps: number;
  failed: [seed: number, what: string][];
  coverage: [string, number][];
}

const options = {
  seed: { type: 'string' },
  seeds: { type: 'string', default: '1000' },
  from: { type: 'string', default: '1' },
  workers: { type: 'string', default: '1' },
  resume: { type: 'boolean', default: false },
  /** How many failed seeds end the work. */
  failures: { type: 'string', default: '10' },
} as const;
const { values } = parseArgs({ options });
const piece = 100;
const countPath = join(import.meta.dirname, '../../../../node_modules/.cache/simulation.json');

if (process.send) process.on('message', (from: number) => void report(from).then((done) => process.send?.(done)));
else if (values.seed !== undefined) {
  const { log, violation } = await simulate(Number(values.seed));
  console.log(log.join('\n'));
  console.log(violation === undefined ? 'No violation.' : `\nSeed ${values.seed}: ${violation}`);
  process.exit(violation === undefined ? 0 : 1);
} else await simulateMany();

async function report(from: number): Promise<Report> {
  const coverage = new Map<string, number>();
  const done: Report = { seeds: piece, steps: 0, failed: [], coverage: [] };
  for (let seed = from; seed < from + piece; seed += 1) {
    const outcome = await simulate(seed);
    done.steps += outcome.steps;
    if (outcome.violation !== undefined) done.failed.push([seed, outcome.violation]);
    for (const [what, times] of outcome.coverage) coverage.set(what, (coverage.get(what) ?? 0) + times);
  }
  return { ...done, coverage: [...coverage] };
}

async function simulateMany(): Promise<void> {
  const before = values.resume ? loadCount() : { next: Number(values.from), seeds: 0 };
  const end = before.next + Number(values.seeds);
  const started = Date.now();
  const coverage = new Map<string, number>();
  const failed: Report['failed'] = [];
  let next = before.next;
  let seeds = before.seeds;
  let steps = 0;
  const isOver = () => next >= end || failed.length >= Number(values.failures);
  await Promise.all(
    Array.from({ length: Number(values.workers) }, async () => {
      const worker = fork(import.meta.filename, [], { execArgv: process.execArgv });
      while (!isOver()) {
        worker.send(next);
        next += piece;
        const done = await new Promise<Report>((resolve, reject) => {
          worker.once('message', (message) => resolve(message as Report));
          worker.once('exit', (code) => reject(new Error(`a worker ended with ${code}`)));
        });
        worker.removeAllListeners('exit');
        seeds += done.seeds;
        steps += done.steps;
        failed.push(...done.failed);
        for (const [what, times] of done.coverage) coverage.set(what, (coverage.get(what) ?? 0) + times);
        for (const [seed, what] of done.failed) console.log(`Seed ${seed}: ${what}`);
        saveCount({ next, seeds });
      }
      worker.kill();
    }),
  );
  console.log('\nWhat was covered, and how often:');
  for (const [what, times] of [...coverage].sort(([a], [b]) => a.localeCompare(b))) console.log(`${times}\t${what}`);
  const never = Object.keys(transitions).filter((name) => !coverage.has(`transition ${name}`));
  console.log(`\nTransitions that were not taken: ${never.join(', ') || 'none'}`);
  const total = values.resume ? `, ${seeds} in all` : '';
  console.log(`${next - before.next} seeds${total}, ${steps} steps, ${((Date.now() - started) / 1000).toFixed(1)} s`);
  console.log(failed.length === 0 ? 'No violation.' : `${failed.length} seeds failed; replay one with --seed`);
  process.exit(failed.length === 0 ? 0 : 1);
}

function loadCount(): { next: number; seeds: number } {
  try {
    return JSON.parse(readFileSync(countPath, 'utf8'));
  } catch {
    return { next: 1, seeds: 0 };
  }
}

function saveCount(count: { next: number; seeds: number }): void {
  if (!values.resume) return;
  mkdirSync(dirname(countPath), { recursive: true });
  writeFileSync(countPath, JSON.stringify(count));
}
