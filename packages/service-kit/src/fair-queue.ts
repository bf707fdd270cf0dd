/** Whose work it is. Anyone can make keys, so the client address counts as well as the user. */
export interface QueueOwner {
  userDid: string;
  /** Undefined for an address that many users share. */
  client?: string | undefined;
}

export interface QueueLimits {
  atOnce: number;
  waiting: number;
  waitingPerUser: number;
}

interface Waiting {
  owner: QueueOwner;
  start(isAccepted: boolean): void;
}

/** Of addresses and users of which it is known when they were served: the others come first. */
const maxServed = 10_000;

const clientOf = ({ client, userDid }: QueueOwner) => client ?? userDid;
const userOf = ({ userDid }: QueueOwner) => userDid;

/** Runs work of many users, one at a time of each user, and next that of the client and user that were served longest ago. */
export function createFairQueue(limits: QueueLimits) {
  const running: QueueOwner[] = [];
  const waiting: Waiting[] = [];
  /** When they were served last, oldest first. */
  const served = new Map<string, number>();
  let count = 0;

  function noteServed(name: string): void {
    served.delete(name);
    served.set(name, count);
    const [oldest] = served.keys();
    if (served.size > maxServed && oldest !== undefined) served.delete(oldest);
  }

  function startNext(): void {
    const busyOf = (owner: QueueOwner) => running.filter((other) => clientOf(other) === clientOf(owner)).length;
    const lastOf = (owner: QueueOwner) => Math.max(served.get(clientOf(owner)) ?? 0, served.get(userOf(owner)) ?? 0);
    while (running.length < limits.atOnce) {
      const [next] = waiting
        .filter(({ owner }) => !running.some((other) => userOf(other) === userOf(owner)))
        .sort(({ owner: one }, { owner: other }) => busyOf(one) - busyOf(other) || lastOf(one) - lastOf(other));
      if (!next) return;
      waiting.splice(waiting.indexOf(next), 1);
      running.push(next.owner);
      count += 1;
      noteServed(clientOf(next.owner));
      noteServed(userOf(next.owner));
      next.start(true);
    }
  }

  /** Refuses the newest of the client that has most waiting. */
  function refuseOne(): void {
    const counts = new Map<string, number>();
    for (const { owner } of waiting) counts.set(clientOf(owner), (counts.get(clientOf(owner)) ?? 0) + 1);
    const most = Math.max(...counts.values());
    const index = waiting.findLastIndex(({ owner }) => counts.get(clientOf(owner)) === most);
    waiting.splice(index, 1)[0]?.start(false);
  }

  return {
    /** What `work` gives; undefined if too much waits already. */
    async run<T>(owner: QueueOwner, work: () => Promise<T>): Promise<T | undefined> {
      const own = waiting.filter((other) => userOf(other.owner) === userOf(owner));
      if (own.length >= limits.waitingPerUser) return undefined;
      const isAccepted = await new Promise<boolean>((start) => {
        waiting.push({ owner, start });
        startNext();
        if (waiting.length > limits.waiting) refuseOne();
      });
      if (!isAccepted) return undefined;
      try {
        return await work();
      } finally {
        running.splice(running.indexOf(owner), 1);
        // Work that waits for nothing would otherwise follow work without an end, and nothing else would be served meanwhile.
        setImmediate(startNext);
      }
    },
  };
}
