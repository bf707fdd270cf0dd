import { expect, test } from 'vitest';
import { runScenario } from './run-scenario.ts';
import { scenarios } from './scenarios.ts';
import type { Engine, ServiceName } from './world.ts';

// The short form of `npm run faults`: one round of what is most likely to break, each on servers of its own.
test.concurrent.for<[ServiceName, Engine, string]>([
  ['ussd', 'sqlite', 'kill -9'],
  ['ussd', 'sqlite', 'disk full'],
  ['ussd', 'postgres', 'Redis hung for 3 s'],
  ['ussd', 'postgres', 'PostgreSQL restarted'],
  ['agent', 'sqlite', 'kill -9'],
  ['agent', 'postgres', 'kill -9'],
  ['agent', 'postgres', 'Redis killed for 3 s'],
  ['agent', 'postgres', 'PostgreSQL cut off for 2 s'],
  ['gateway', 'sqlite', 'the node killed for 1 s'],
])(
  '%s on %s, %s: nothing confirmed is lost or doubled, nothing is stuck',
  async ([service, engine, name], { skip }) => {
    const scenario = scenarios.find((candidate) => candidate.name === name);
    if (!scenario) throw new Error(`there is no scenario ${name}`);
    const outcome = await runScenario(scenario, { service, engine, rounds: 1 });
    if ('reason' in outcome) return skip(outcome.reason);
    expect(outcome.confirmed).toBeGreaterThan(0);
    expect(outcome).toMatchObject({ lost: 0, doubled: 0, stuck: 0, findings: [] });
  },
);
