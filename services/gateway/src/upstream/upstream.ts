import { failure, limitTime, toCall } from './call.ts';
import { type Caller, type NodeFault, openConnection } from './connection.ts';
import { createChooseNode, createNodeWatch, maxWaitMs, type NodeState } from './node-watch.ts';
import { createRetry } from './retry.ts';

export interface UpstreamStatus extends NodeState {
  address: string;
  /** Whether calls are sent there: connected, answering, near the highest height. */
  healthy: boolean;
  reachable: boolean;
  fault: NodeFault | null;
}

export interface UpstreamOptions {
  addresses: string[];
  /** Certificates to trust for `tls://` addresses instead of the well-known authorities. */
  ca?: string | undefined;
  /** How far behind the highest node one may be. Without it, nodes are not asked for their heights. */
  maxLagBlocks?: number | undefined;
  /** Called when a node is reached, after a fault only once it stays; `again` from the second time on. */
  onUp?: (address: string, again: boolean) => void;
  /** Called once with the cause when a node is lost, once when it cannot be reached, and not again before `onUp`. */
  onDown?: (address: string, cause: Error, wasReached: boolean) => void;
}

const minAttempts = 3;

export function createUpstream({ addresses, ca, maxLagBlocks, onUp, onDown }: UpstreamOptions) {
  const watch = createNodeWatch(maxLagBlocks ?? Number.POSITIVE_INFINITY);
  const connections = addresses.map((address) => {
    const connection = openConnection({
      address,
      ca,
      onConnect: () => watch.forget(connection),
      onUp: (again) => onUp?.(address, again),
      onDown: (cause, wasReached) => onDown?.(address, cause, wasReached),
    });
    return connection;
  });
  if (maxLagBlocks !== undefined) watch.start(connections);
  const choose = createChooseNode(connections, watch);
  const send = limitTime(createRetry({ choose, watch, maxAttempts: Math.max(minAttempts, connections.length) }));
  return {
    send,
    call: toCall(send),
    /** One node for calls whose answers must fit together; when it is lost or replaced, they fail. */
    async pin(): Promise<Caller> {
      const connection = choose.now([], 0) ?? (await choose.orWait([], 0, maxWaitMs));
      return connection?.pin() ?? { call: async () => failure('unreachable') };
    },
    status: (): UpstreamStatus[] =>
      connections.map((connection) => ({
        address: connection.address,
        healthy: connection.reachable() && watch.isCurrent(connection),
        reachable: connection.reachable(),
        fault: connection.fault(),
        ...watch.stateOf(connection),
      })),
    chain: watch.chain,
    close() {
      watch.stop();
      for (const connection of connections) connection.close();
    },
  };
}

export type Upstream = ReturnType<typeof createUpstream>;
