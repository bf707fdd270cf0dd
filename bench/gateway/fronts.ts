import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../harness.ts';
import { protoFolder, targets } from './answers.ts';

export async function startNode(bench: Bench): Promise<string> {
  return new URL((await bench.start('gateway/node.ts')).url).host;
}

export function startGateway(bench: Bench, upstream: string, env: Record<string, string>) {
  const chain = { GATEWAY_UPSTREAMS: upstream, GATEWAY_DESCRIPTORS: protoFolder };
  return bench.startService('gateway', { LOG_LEVEL: 'warn', ...chain, ...env });
}

/** One request; `{n}` in the path is another number in each, or the same in all. */
export function toRequest(path: string, distinct: boolean): string {
  return `GET ${distinct ? path : path.replace('{n}', '10000000')} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
}

export async function waitForRoutes(url: string): Promise<void> {
  for (let round = 0; round < 100; round += 1) {
    if ((await fetch(url + targets.params.replace('{n}', '1'))).status === 200) return;
    await sleep(100);
  }
  throw new Error(`${url} does not answer`);
}
