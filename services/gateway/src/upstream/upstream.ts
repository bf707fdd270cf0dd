// The nodes behind the gateway: calls go to the least busy of those near the highest height; one that dies under a call is
// not noticed by the client as long as another is there, for all calls are queries and may be repeated.
import { failure, type GrpcAnswer, type GrpcRequest } from './call.ts';
import { type Caller, type Connection, openConnection } from './connection.ts';
import { type ChainState, createNodeWatch, type NodeState, readHeight } from './node-watch.ts';

export interface QueryRequest extends GrpcRequest {
  /** The height the request is pinned to. */
  height?: number | undefined;
  /** The lowest height that the answer may be about. */
  minHeight?: number | undefined;
  /** Not repeated on another node: it may have taken effect. */
  once?: boolean | undefined;
}

export interface UpstreamStatus extends NodeState {
  address: string;
  /** Whether calls are sent there: connected, not set aside, near the highest height. */
  healthy: boolean;
  reachable: boolean;
}

export interface Upstream {
  /** Never rejects; a failure is an answer. */
  call(request: QueryRequest): Promise<GrpcAnswer>;
  /** One node for calls whose answers must fit together; when it is lost or replaced, they fail. */
  pin(): Promise<Caller>;
  status(): UpstreamStatus[];
  chain(): ChainState;
  close(): void;
}

export interface UpstreamOptions {
  addresses: string[];
  /** Certificates to trust for `tls://` addresses beside the system's. */
  ca?: string | undefined;
  /** How far behind the highest node one may be. Without it, nodes are not asked for their heights. */
  maxLagBlocks?: number | undefined;
  /** Called when a node is reached; `again` when it had been reached before. */
  onConnect?: (address: string, again: boolean) => void;
}

const maxAttempts = 3;
/** How long a call waits for a connection that is being opened, or for a node to reach a height. */
const maxWaitMs = 2_000;
const heightWaitMs = 100;
/** What nodes say about a height that they have pruned or not reached yet. */
const heightRefusal =
  /height in the future|must be less than or equal to|version does not exist|pruned|lowest height|failed to load state|bigger than|bigger then/i;

export function createUpstream({ addresses, ca, maxLagBlocks, onConnect }: UpstreamOptions): Upstream {
  const connections = addresses.map((address) =>
    openConnection({ address, ca, onConnect: (again) => onConnect?.(address, again) }),
  );
  const watch = createNodeWatch(maxLagBlocks ?? Number.POSITIVE_INFINITY);
  if (maxLagBlocks !== undefined) watch.start(connections);
  let nextIndex = 0;

  /** The least busy of the best kind of node: at the height that is needed, below it, lagging or catching up. */
  const pick = (tried: Set<Connection>, need = 0): Connection | undefined => {
    nextIndex += 1;
    let best: Connection | undefined;
    let bestRank = 0;
    for (let index = 0; index < connections.length; index += 1) {
      const candidate = connections[(nextIndex + index) % connections.length];
      if (!candidate?.healthy() || tried.has(candidate)) continue;
      const height = watch.stateOf(candidate).height ?? need;
      const rank = !watch.isCurrent(candidate) ? 2 : height < need ? 1 : 0;
      if (!best || rank < bestRank || (rank === bestRank && candidate.inFlight() < best.inFlight())) {
        best = candidate;
        bestRank = rank;
      }
    }
    return best;
  };

  const pickOrWait = async (
    tried: Set<Connection>,
    deadline: number,
    need?: number,
  ): Promise<Connection | undefined> => {
    const ready = pick(tried, need);
    if (ready) return ready;
    const opening = connections.filter((connection) => connection.connecting());
    if (opening.length > 0) {
      const wait = Math.min(maxWaitMs, deadline - performance.now());
      await Promise.race([...opening.map((connection) => connection.settled()), sleep(wait)]);
    }
    // Set aside is better than nobody: when no other is left, those that failed are asked again.
    return pick(tried, need) ?? pick(new Set(), need) ?? connections.find((connection) => !tried.has(connection));
  };

  /** Asks up to three nodes for an answer; `isBehind` when the best of them is below the height that is needed. */
  const attempt = async (
    request: QueryRequest,
    deadline: number,
  ): Promise<{ answer: GrpcAnswer; isBehind: boolean }> => {
    const { height, minHeight = 0 } = request;
    const tried = new Set<Connection>();
    let answer: GrpcAnswer = failure('unreachable');
    let isBehind = false;
    for (let attempts = request.once ? 1 : Math.max(maxAttempts, connections.length); attempts > 0; attempts -= 1) {
      const connection = await pickOrWait(tried, deadline, height ?? minHeight);
      const timeoutMs = deadline - performance.now();
      if (!connection) break;
      if (timeoutMs <= 0) return { answer: failure('deadline'), isBehind: false };
      tried.add(connection);
      const next = await connection.call({ ...request, timeoutMs });
      if (next.ok || next.fault === undefined) {
        if (height === undefined) watch.note(connection, next.metadata);
        const reported = readHeight(next.metadata) ?? watch.stateOf(connection).height ?? minHeight;
        isBehind = height === undefined && reported < minHeight;
        const isElsewhere = height !== undefined && !next.ok && heightRefusal.test(next.message);
        answer = next;
        if ((!isBehind && !isElsewhere) || !pick(tried)) break;
      } else {
        // An answer that was refused for its height says more than that another node could not be reached.
        if (!isBehind && (answer.ok || answer.fault !== undefined)) answer = next;
        if (next.fault !== 'unreachable') break;
      }
    }
    return { answer, isBehind };
  };

  return {
    async pin() {
      const connection = await pickOrWait(new Set(), performance.now() + maxWaitMs);
      return connection?.pin() ?? { call: async () => failure('unreachable') };
    },
    async call(request) {
      const started = performance.now();
      const deadline = started + request.timeoutMs;
      const giveUpAt = Math.min(deadline, started + maxWaitMs);
      for (;;) {
        const { answer, isBehind } = await attempt(request, deadline);
        if (!isBehind) return answer;
        if (performance.now() + heightWaitMs >= giveUpAt) return failure('behind');
        await sleep(heightWaitMs);
      }
    },
    status: () =>
      connections.map((connection) => ({
        address: connection.address,
        healthy: connection.healthy() && watch.isCurrent(connection),
        reachable: connection.healthy(),
        ...watch.stateOf(connection),
      })),
    chain: watch.chain,
    close() {
      watch.stop();
      for (const connection of connections) connection.close();
    },
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
