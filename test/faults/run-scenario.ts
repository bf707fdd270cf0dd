import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '@palaver/test-kit/servers';
import { createAgentLoad } from './agent-load.ts';
import { createGatewayLoad } from './gateway-load.ts';
import type { Load, Tally } from './load.ts';
import type { Scenario } from './scenarios.ts';
import { createUssdLoad } from './ussd-load.ts';
import { createWorld, type Engine, type ServiceName, type World } from './world.ts';

export interface Outcome extends Tally {
  rounds: number;
  /** Longest time from the end of a fault to the next confirmation. */
  worstRecoveryMs: number;
}

const recoverMs = 120_000;
const calmMs = 700;

/** Injects a scenario's fault so many times under load, then compares what was confirmed with the database. */
export async function runScenario(
  scenario: Scenario,
  { service, engine, rounds }: { service: ServiceName; engine: Engine; rounds: number },
): Promise<Outcome | { reason: string }> {
  await using opened = new AsyncDisposableStack();
  const prepared = await scenario.prepare?.(opened);
  if (prepared && 'reason' in prepared) return prepared;
  const world = await createWorld({ service, engine, ...prepared });
  if ('reason' in world) return world;
  opened.use(world);
  const load = await createLoad(world, scenario);
  load.start();
  let worstRecoveryMs = 0;
  const faults: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await waitFor('a confirmation before the fault', () => load.lastConfirmed() > 0, recoverMs);
    await sleep(calmMs);
    try {
      world.healedAt = Number.POSITIVE_INFINITY;
      await scenario.inject(world);
    } catch (error) {
      faults.push(`round ${round + 1}: ${error}`);
      break;
    } finally {
      world.healedAt = performance.now();
    }
    const { healedAt } = world;
    await waitFor('a confirmation after the fault', () => load.lastConfirmed() > healedAt, recoverMs).catch((error) =>
      faults.push(`round ${round + 1}: ${error}`),
    );
    worstRecoveryMs = Math.max(worstRecoveryMs, load.lastConfirmed() - healedAt);
  }
  await load.stop();
  const tally = await load.check();
  const findings = [...faults, ...tally.findings];
  return {
    ...tally,
    stuck: tally.stuck + faults.length,
    findings: findings.length > 0 ? [...findings, ...lastOutput(world)] : [],
    rounds,
    worstRecoveryMs: Math.round(worstRecoveryMs),
  };
}

const lastOutput = ({ instances }: World): string[] =>
  instances.map(({ url, output }) => `${url} printed last:\n${output().slice(-4_000)}`);

async function createLoad(world: World, { leaveEarly = false }: Scenario): Promise<Load> {
  if (world.service === 'ussd') return createUssdLoad(world, { leaveEarly });
  if (world.service === 'agent') return createAgentLoad(world, { leaveEarly });
  return createGatewayLoad(world);
}
