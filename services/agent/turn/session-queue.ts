/** Keeps the turns of a session one after the other, in the order they came. */
export interface SessionQueue {
  /** Takes a place, or gives undefined where already `maxWaiting` wait behind the running one. */
  enter(sessionId: string, runId: string): Promise<QueuePlace | undefined>;
  /** The runs of a session in order, the running one first. */
  list(sessionId: string): Promise<string[]>;
}

export interface QueuePlace {
  /** Resolves when it is this run's turn. */
  turn: Promise<void>;
  /** Gives the place up, whether its turn came or not. */
  leave(): Promise<void>;
}

interface Waiting {
  runId: string;
  go(): void;
}

/** For one process. */
export function createMemoryQueue(maxWaiting: number): SessionQueue {
  const queues = new Map<string, Waiting[]>();

  return {
    async enter(sessionId, runId) {
      const queue = queues.get(sessionId) ?? [];
      if (queue.length > maxWaiting) return undefined;
      const { promise: turn, resolve: go } = Promise.withResolvers<void>();
      const place = { runId, go };
      queue.push(place);
      queues.set(sessionId, queue);
      if (queue[0] === place) go();
      return {
        turn,
        async leave() {
          const index = queue.indexOf(place);
          if (index === -1) return;
          queue.splice(index, 1);
          if (queue.length === 0) queues.delete(sessionId);
          else if (index === 0) queue[0]?.go();
        },
      };
    },
    async list(sessionId) {
      return (queues.get(sessionId) ?? []).map(({ runId }) => runId);
    },
  };
}
