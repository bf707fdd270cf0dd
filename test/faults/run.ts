// `npm run faults -- --rounds 5`: every scenario for every service and engine, and a table. `--only` is a regular expression on
// lines like `agent postgres kill -9`; `kill` alone is the series below. The exit code is 1 when anything was lost, doubled
// or stuck.
import { parseArgs } from 'node:util';
import { runScenario } from './run-scenario.ts';
import { scenarios } from './scenarios.ts';

const presets: Record<string, { rounds: number; only: string }> = {
  kill: { rounds: 20, only: '^(ussd|agent) \\w+ kill -9$' },
};

const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string' }, only: { type: 'string' } },
  allowPositionals: true,
});
const [name] = positionals;
const preset = name === undefined ? { rounds: 5, only: '' } : presets[name];
if (!preset) throw new Error(`there is no series ${name}; there are: ${Object.keys(presets).join(', ')}`);
const rounds = values.rounds === undefined ? preset.rounds : Number(values.rounds);
const only = new RegExp(values.only ?? preset.only, 'i');
const head = ['Service', 'Engine', 'Scenario', 'Rounds', 'Confirmed', 'Lost', 'Doubled', 'Stuck', 'Worst recovery'];
const rows: string[][] = [];
const skipped: string[] = [];
let failed = false;

for (const scenario of scenarios) {
  for (const service of scenario.services) {
    for (const engine of scenario.engines) {
      const name = `${service} ${engine} ${scenario.name}`;
      if (!only.test(name)) continue;
      process.stderr.write(`${name} …\n`);
      const outcome = await runScenario(scenario, { service, engine, rounds }).catch((error: Error) => ({
        rounds: 0,
        confirmed: 0,
        lost: 0,
        doubled: 0,
        stuck: 1,
        worstRecoveryMs: 0,
        findings: [error.message],
      }));
      if ('reason' in outcome) {
        skipped.push(`${name}: ${outcome.reason}`);
        continue;
      }
      const { confirmed, lost, doubled, stuck, worstRecoveryMs, findings } = outcome;
      failed ||= lost + doubled + stuck > 0;
      for (const finding of findings) process.stderr.write(`  ${finding}\n`);
      const counts = [outcome.rounds, confirmed, lost, doubled, stuck].map(String);
      rows.push([service, engine, scenario.name, ...counts, `${(worstRecoveryMs / 1000).toFixed(1)} s`]);
      process.stderr.write(`  ${rows.at(-1)?.slice(3).join(' | ')}\n`);
    }
  }
}

const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
const toLine = (cells: string[]) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
const lines = [toLine(head), toLine(widths.map((width) => '-'.repeat(width))), ...rows.map(toLine)];
process.stdout.write(`${[...lines, ...skipped.map((reason) => `skipped: ${reason}`)].join('\n')}\n`);
process.exit(failed ? 1 : 0);
