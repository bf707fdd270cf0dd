// `npm run simulate -- --seeds 10000` runs that many schedules of the agent and prints what they covered; `npm run simulate --
// ussd --seed 7` runs one of the USSD service and prints everything that happened. `--from` is the first seed, `--resume`
// continues where the last count ended, and `--workers` processes share the work. `--mutations` puts one fault after another
// into the code and prints how many seeds find it; `--only` keeps those whose name has that text. `--postgres` runs the agent on
// a PostgreSQL of its own in place of SQLite: slower, and a seed is not always the same schedule there.
import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Mutation, mutate } from '../packages/store/test/simulation/mutate.ts';
import type { Outcome } from '../packages/store/test/simulation/outcome.ts';
import { startPostgres } from '../packages/test-kit/src/postgres.ts';

interface Simulation {
  simulate(seed: number): Promise<Outcome>;
  /** What runs of so many seeds must have covered. */
  mustCover: { seeds: number; what: readonly string[] }[];
}

interface Loaders {
  load(): Promise<Simulation>;
  loadMutations(): Promise<{ mutations: Mutation[] }>;
}

/** They replace clocks and timers as they are loaded, so each is loaded by a process of its own. */
const simulations: Record<string, Loaders> = {
  runs: {
    load: () => import('../packages/agent/test/simulation/simulate.ts'),
    loadMutations: () => import('../packages/agent/test/simulation/mutations.ts'),
  },
  queue: {
    load: () => import('../packages/store/test/simulation/queue/simulate.ts'),
    loadMutations: () => import('../packages/store/test/simulation/queue/mutations.ts'),
  },
  ussd: {
    load: () => import('../services/ussd/test/simulation/simulate.ts'),
    loadMutations: () => import('../services/ussd/test/simulation/mutations.ts'),
  },
};

interface Report {
  seeds: number;
  steps: number;
  failed: [seed: number, what: string][];
  coverage: [string, number][];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    workers: { type: 'string', default: '1' },
    resume: { type: 'boolean', default: false },
    mutations: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    /** One of the list, by its name: put into the code of this process. */
    mutation: { type: 'string' },
    failures: { type: 'string', default: '10' },
  },
});
const [name = 'runs'] = positionals;
const simulation = simulations[name];
if (!simulation) throw new Error(`${name}: expected one of ${Object.keys(simulations).join(', ')}`);
if (values.postgres && name !== 'runs') throw new Error('--postgres: only runs are simulated on PostgreSQL');
const { load, loadMutations } = simulation;
const piece = 50;
/** What a seed allocates is garbage soon: with room for more of it little is copied. */
const execArgv = ['--max-semi-space-size=64'];
/** A process that does not answer any more is in a loop without an end. */
const answerMs = 300_000;
const countPath = join(import.meta.dirname, `../node_modules/.cache/simulation-${name}.json`);

if (values.mutation !== undefined) {
  const { mutations } = await loadMutations();
  mutate(mutations.find((mutation) => mutation.name === values.mutation) as Mutation);
}
if (process.send) process.on('message', (from: number) => void report(from).then((done) => process.send?.(done)));
else if (values.seed !== undefined) {
  const { simulate } = await load();
  const { log, violation } = await simulate(Number(values.seed));
  console.log(log().join('\n'));
  console.log(violation === undefined ? 'No violation.' : `\nSeed ${values.seed}: ${violation}`);
  leave(violation === undefined);
} else if (values.mutations) await simulateMutations();
else await simulateMany();

/** Once everything is written: a slow reader of a pipe lets lines wait in this process. */
function leave(isGood: boolean): void {
  process.stdout.write('', () => process.exit(isGood ? 0 : 1));
}

async function report(from: number): Promise<Report> {
  const { simulate } = await load();
  // Who wants the place of an error replays its seed.
  Error.stackTraceLimit = 0;
  const coverage = new Map<string, number>();
  const done: Report = { seeds: 0, steps: 0, failed: [], coverage: [] };
  for (let seed = from; seed < from + piece; seed += 1) {
    const outcome = await simulate(seed);
    done.seeds += 1;
    done.steps += outcome.steps;
    if (outcome.violation !== undefined) done.failed.push([seed, outcome.violation]);
    if (outcome.violation !== undefined && values.mutation !== undefined) break;
    for (const [what, times] of outcome.coverage) coverage.set(what, (coverage.get(what) ?? 0) + times);
  }
  return { ...done, coverage: [...coverage] };
}

function ask(worker: ChildProcess, from: number): Promise<Report> {
  return new Promise((resolve, reject) => {
    worker.once('message', (message) => {
      worker.removeAllListeners('exit');
      resolve(message as Report);
    });
    worker.once('exit', (code) => reject(new Error(`the process ended with ${code}`)));
    worker.send(from);
  });
}

async function simulateMany(): Promise<void> {
  const before: Count = values.resume ? loadCount() : { next: Number(values.from), seeds: 0, coverage: [] };
  const end = before.next + Number(values.seeds ?? 1_000);
  const started = Date.now();
  const coverage = new Map(before.coverage);
  const failed: Report['failed'] = [];
  const postgres = values.postgres ? await startPostgres() : undefined;
  const env = { ...process.env, ...(postgres && { SIMULATION_POSTGRES_URL: postgres.url }) };
  let next = before.next;
  let seeds = before.seeds;
  let steps = 0;
  const isOver = () => next >= end || failed.length >= Number(values.failures);
  await Promise.all(
    Array.from({ length: Number(values.workers) }, async () => {
      const worker = fork(import.meta.filename, [name], { env, execArgv });
      while (!isOver()) {
        const from = next;
        next += piece;
        const done = await ask(worker, from);
        seeds += done.seeds;
        steps += done.steps;
        failed.push(...done.failed);
        for (const [what, times] of done.coverage) coverage.set(what, (coverage.get(what) ?? 0) + times);
        for (const [seed, what] of done.failed) console.log(`Seed ${seed}: ${what}`);
        saveCount({ next, seeds, coverage: [...coverage] });
      }
      worker.kill();
    }),
  );
  await postgres?.stop();
  console.log('\nWhat was covered, and how often:');
  for (const [what, times] of [...coverage].sort(([a], [b]) => a.localeCompare(b))) console.log(`${times}\t${what}`);
  const { mustCover } = await load();
  const wanted = mustCover.flatMap(({ seeds: least, what }) => (seeds < least ? [] : what));
  const missing = wanted.filter((what) => !coverage.has(what));
  console.log(
    `\nOf ${wanted.length} that must happen in so many seeds, these did not: ${missing.join(', ') || 'none'}`,
  );
  const total = values.resume ? `, ${seeds} in all` : '';
  console.log(`${next - before.next} seeds${total}, ${steps} steps, ${((Date.now() - started) / 1000).toFixed(1)} s`);
  console.log(failed.length === 0 ? 'No violation.' : `${failed.length} seeds failed; replay one with --seed`);
  leave(failed.length === 0 && missing.length === 0);
}

async function simulateMutations(): Promise<void> {
  const { mutations } = await loadMutations();
  const chosen = mutations.slice(Number(values.from) - 1).filter((mutation) => mutation.name.includes(values.only));
  const most = Number(values.seeds ?? 100_000);
  let lost = 0;
  console.log('| Fault | Seeds | What is found |\n|---|---|---|');
  const find = async (fault: string): Promise<{ seeds: number; what: string | undefined }> => {
    const worker = fork(import.meta.filename, [name, '--mutation', fault], {
      execArgv,
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
    let said = '';
    worker.stderr?.on('data', (text) => {
      said += text;
    });
    const late = setTimeout(() => worker.kill('SIGKILL'), answerMs);
    try {
      for (let from = 1; from <= most; from += piece) {
        late.refresh();
        const { failed, seeds } = await ask(worker, from);
        const [first] = failed;
        if (first) return { seeds: from - 1 + seeds, what: first[1] };
      }
      return { seeds: most, what: undefined };
    } catch (error) {
      return { seeds: piece, what: `${(error as Error).message}: ${said.match(/\w*Error: .*/)?.[0] ?? ''}` };
    } finally {
      clearTimeout(late);
      worker.kill();
    }
  };
  const queue = [...chosen];
  await Promise.all(
    Array.from({ length: Number(values.workers) }, async () => {
      for (let entry = queue.shift(); entry; entry = queue.shift()) {
        const { seeds, what } = await find(entry.name);
        if (what === undefined || /not exactly once/.test(what)) lost += 1;
        const shown = (what ?? '**not found**').split('\n')[0]?.replaceAll('|', '\\|').slice(0, 110);
        console.log(`| ${entry.name} | ${seeds} | ${shown} |`);
      }
    }),
  );
  console.log(`\n${chosen.length - lost} of ${chosen.length} faults are found.`);
  leave(lost === 0);
}

interface Count {
  next: number;
  seeds: number;
  coverage: Report['coverage'];
}

function loadCount(): Count {
  try {
    return JSON.parse(readFileSync(countPath, 'utf8'));
  } catch {
    return { next: 1, seeds: 0, coverage: [] };
  }
}

function saveCount(count: Count): void {
  if (!values.resume) return;
  mkdirSync(dirname(countPath), { recursive: true });
  writeFileSync(countPath, JSON.stringify(count));
}
