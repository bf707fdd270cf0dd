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
  waitingPerClient: number;
}

interface Waiting {
  owner: QueueOwner;
  start(): void;
}

/** Runs work of many users, one at a time of each user, and next that of the client that has least under way. */
export function createFairQueue(limits: QueueLimits) {
  const running: QueueOwner[] = [];
  const waiting: Waiting[] = [];

  const isOfUser = (one: QueueOwner, other: QueueOwner) => one.userDid === other.userDid;
  const isOfClient = (one: QueueOwner, other: QueueOwner) => one.client !== undefined && one.client === other.client;

  function isFull(owner: QueueOwner): boolean {
    const count = (isSame: typeof isOfUser) => waiting.filter((entry) => isSame(entry.owner, owner)).length;
    return (
      waiting.length >= limits.waiting ||
      count(isOfUser) >= limits.waitingPerUser ||
      count(isOfClient) >= limits.waitingPerClient
    );
  }

  function startNext(): void {
    const busyOf = ({ owner }: Waiting) => running.filter((other) => isOfClient(other, owner)).length;
    while (running.length < limits.atOnce) {
      const [next] = waiting
        .filter(({ owner }) => !running.some((other) => isOfUser(other, owner)))
        .sort((one, other) => busyOf(one) - busyOf(other));
      if (!next) return;
      waiting.splice(waiting.indexOf(next), 1);
      running.push(next.owner);
      next.start();
    }
  }

  return {
    /** What `work` gives; undefined if too much waits already. */
    async run<T>(owner: QueueOwner, work: () => Promise<T>): Promise<T | undefined> {
      if (isFull(owner)) return undefined;
      await new Promise<void>((start) => {
        waiting.push({ owner, start });
        startNext();
      });
      try {
        return await work();
      } finally {
        running.splice(running.indexOf(owner), 1);
        startNext();
      }
    },
  };
}
