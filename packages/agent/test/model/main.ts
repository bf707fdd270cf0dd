// Explores the model of runs: `npm run model` the large configurations, `npm run model -- '{"instances":2,"scripts":["tool"]}'` that one.
import { transitions } from '../../src/runs/transitions.ts';
import { largeConfigurations } from './configurations.ts';
import { explore } from './explore.ts';
import { createRunModel, type Limits } from './run-model.ts';

const [given] = process.argv.slice(2);
const configurations = given ? [JSON.parse(given) as Limits] : largeConfigurations;
const taken = new Map<string, number>();
for (const limits of configurations) {
  const before = process.cpuUsage().user;
  const explored = explore(createRunModel(limits));
  const seconds = ((process.cpuUsage().user - before) / 1e6).toFixed(1);
  const { states, steps, depth, violation } = explored;
  console.log(
    `${states} states, ${steps} steps, at most ${depth} from the start, ${seconds} s: ${JSON.stringify(limits)}`,
  );
  for (const [label, times] of explored.taken) taken.set(label, (taken.get(label) ?? 0) + times);
  if (!violation) continue;
  console.log(`\n${violation.what}\n${violation.trace.map((step, at) => `${at + 1}. ${step}`).join('\n')}`);
  process.exitCode = 1;
}
console.log('\nHow often each step was taken:');
for (const [label, times] of [...taken].sort(([, a], [, b]) => b - a)) console.log(`${times}\t${label}`);
// A replacement is part of a begin; frames change no state of a run.
const never = Object.keys(transitions).filter((name) => !taken.has(name) && !['frames', 'replace'].includes(name));
console.log(`Transitions that were not taken: ${never.join(', ') || 'none'}`);
