// Which node a call goes to: the least busy of those near the highest height.
import type { Connection } from './connection.ts';
import type { NodeWatch } from './node-watch.ts';

export interface ChooseNode {
  /** The least busy of the best kind of node: at the height that is needed, below it, lagging or catching up. */
  now(tried: Connection[], need: number): Connection | undefined;
  /** Waits for a connection that is being opened or about to be. Without one, nodes that were tried are asked again. */
  orWait(tried: Connection[], need: number, maxMs: number): Promise<Connection | undefined>;
}

/** How long a call waits for a connection that is being opened, or for a node to reach a height. */
export const maxWaitMs = 2_000;

export function createChooseNode(connections: Connection[], watch: NodeWatch): ChooseNode {
  let nextIndex = 0;
  const now = (tried: Connection[], need: number): Connection | undefined => {
    nextIndex += 1;
    let best: Connection | undefined;
    let bestRank = 0;
    for (let index = 0; index < connections.length; index += 1) {
      const candidate = connections[(nextIndex + index) % connections.length];
      if (!candidate?.reachable() || tried.includes(candidate)) continue;
      const height = watch.stateOf(candidate).height ?? need;
      const rank = !watch.isCurrent(candidate) ? 2 : height < need ? 1 : 0;
      if (!best || rank < bestRank || (rank === bestRank && candidate.inFlight() < best.inFlight())) {
        best = candidate;
        bestRank = rank;
      }
    }
    return best;
  };
  return {
    now,
    async orWait(tried, need, maxMs) {
      const opening = connections.filter((connection) => connection.connecting());
      if (opening.length > 0)
        await Promise.race([...opening.map((connection) => connection.settled()), sleep(Math.min(maxWaitMs, maxMs))]);
      return now(tried, need) ?? now([], need) ?? connections.find((connection) => !tried.includes(connection));
    },
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
