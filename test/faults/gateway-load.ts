import { setTimeout as sleep } from 'node:timers/promises';
import { createCallers, type Load, pickUrl, type Tally } from './load.ts';
import type { World } from './world.ts';

const callers = 4;
/** Leaves the services CPU time for what is tried. */
const pauseMs = 5;
const requestMs = 15_000;

/** Clients that ask for the same thing; an answer that differs from the first counts as lost. */
export function createGatewayLoad(world: World): Load {
  const findings: string[] = [];
  let expected: string | undefined;
  let confirmed = 0;
  let lost = 0;
  let confirmedAt = 0;
  let turn = 0;

  async function ask(): Promise<void> {
    turn += 1;
    const url = `${pickUrl(world, turn)}/ixo/token/params?turn=${turn}`;
    const response = await fetch(url, { signal: AbortSignal.timeout(requestMs) });
    const body = await response.text();
    if (response.status !== 200) {
      if (![502, 503, 504].includes(response.status)) findings.push(`${response.status} ${body.slice(0, 200)}`);
      throw new Error(body);
    }
    expected ??= body;
    confirmed += 1;
    confirmedAt = performance.now();
    if (body !== expected) {
      lost += 1;
      findings.push(`another answer: ${body.slice(0, 200)}`);
    }
  }

  return {
    ...createCallers(callers, async (_index, isStopped) => {
      while (!isStopped()) {
        await ask().catch(() => sleep(50));
        await sleep(pauseMs);
      }
    }),
    lastConfirmed: () => confirmedAt,
    async check(): Promise<Tally> {
      return { confirmed, lost: lost + findings.length - lost, doubled: 0, stuck: 0, findings };
    },
  };
}
