// The nodes behind the gateway: calls go to the healthy one with the least to do; one that dies under a call is not
// noticed by the client as long as another is there, for all calls are queries and may be repeated.
import { failure, type GrpcAnswer } from './upstream/call.ts';
import { type Caller, type Connection, openConnection } from './upstream/connection.ts';

export interface Upstream extends Caller {
  /** One node for calls whose answers must fit together; when it is lost or replaced, they fail. */
  pin(): Promise<Caller>;
  status(): { address: string; healthy: boolean }[];
  close(): void;
}

export interface UpstreamOptions {
  addresses: string[];
  /** Certificates to trust for `tls://` addresses beside the system's. */
  ca?: string | undefined;
  /** Called when a node is reached; `again` when it had been reached before. */
  onConnect?: (address: string, again: boolean) => void;
}

const maxAttempts = 3;
/** How long a call waits for a connection that is being opened. */
const maxWaitMs = 2_000;

export function createUpstream({ addresses, ca, onConnect }: UpstreamOptions): Upstream {
  const connections = addresses.map((address) =>
    openConnection({ address, ca, onConnect: (again) => onConnect?.(address, again) }),
  );
  let turn = 0;

  const pick = (tried: Set<Connection>): Connection | undefined => {
    turn += 1;
    let best: Connection | undefined;
    for (let index = 0; index < connections.length; index += 1) {
      const candidate = connections[(turn + index) % connections.length];
      if (!candidate?.healthy() || tried.has(candidate)) continue;
      if (!best || candidate.inFlight() < best.inFlight()) best = candidate;
    }
    return best;
  };

  const pickOrWait = async (tried: Set<Connection>, deadline: number): Promise<Connection | undefined> => {
    const ready = pick(tried);
    if (ready) return ready;
    const opening = connections.filter((connection) => connection.connecting());
    if (opening.length > 0) {
      const wait = Math.min(maxWaitMs, deadline - performance.now());
      await Promise.race([...opening.map((connection) => connection.settled()), sleep(wait)]);
    }
    // Set aside is better than nobody: when no other is left, those that failed are asked again.
    return pick(tried) ?? pick(new Set()) ?? connections.find((connection) => !tried.has(connection));
  };

  return {
    async pin() {
      const connection = await pickOrWait(new Set(), performance.now() + maxWaitMs);
      return connection?.pin() ?? { call: async () => failure('unreachable') };
    },
    async call(request) {
      const deadline = performance.now() + request.timeoutMs;
      const tried = new Set<Connection>();
      let answer: GrpcAnswer = failure('unreachable');
      for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
        const connection = await pickOrWait(tried, deadline);
        const timeoutMs = deadline - performance.now();
        if (!connection) return answer;
        if (timeoutMs <= 0) return failure('deadline');
        tried.add(connection);
        answer = await connection.call({ ...request, timeoutMs });
        if (answer.ok || answer.fault !== 'unreachable') return answer;
      }
      return answer;
    },
    status: () => connections.map((connection) => ({ address: connection.address, healthy: connection.healthy() })),
    close() {
      for (const connection of connections) connection.close();
    },
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
