import { setTimeout as sleep } from 'node:timers/promises';
import { openIdleSocket, streamTurn, type Turn, type User } from './load.ts';

export type Load =
  | { kind: 'turns'; url: string; users: User[]; message: string; atOnce: number }
  | { kind: 'streams'; url: string; users: User[]; message: string; rampMs: number }
  | { kind: 'sockets'; url: string; users: User[] };

export interface LoadResult {
  turns: Turn[];
  connected: number;
  failed: number;
}

const connectAtOnce = 50;

process.on('message', async (load: Load) => process.send?.(await run(load)));
process.send?.({ url: '' });

async function run(load: Load): Promise<LoadResult> {
  if (load.kind === 'sockets') return { turns: [], ...(await openSockets(load.url, load.users)) };
  if (load.kind === 'turns') return { turns: await runTurns(load), connected: 0, failed: 0 };
  const results = await Promise.allSettled(
    load.users.map(async (user, index) => {
      await sleep((index / load.users.length) * load.rampMs);
      return await streamTurn(load.url, user, load.message);
    }),
  );
  const turns = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  return { turns, connected: 0, failed: results.filter(({ status }) => status === 'rejected').length };
}

async function runTurns({ url, message, users, atOnce }: Load & { kind: 'turns' }): Promise<Turn[]> {
  const done: Turn[] = [];
  const waiting = [...users];
  const work = async () => {
    for (let user = waiting.pop(); user; user = waiting.pop()) done.push(await streamTurn(url, user, message));
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return done;
}

async function openSockets(url: string, users: User[]) {
  let connected = 0;
  let failed = 0;
  for (let index = 0; index < users.length; index += connectAtOnce) {
    const opened = users.slice(index, index + connectAtOnce).map((user) => openIdleSocket(url, user));
    for (const { status } of await Promise.allSettled(opened)) {
      if (status === 'fulfilled') connected += 1;
      else failed += 1;
    }
  }
  return { connected, failed };
}
