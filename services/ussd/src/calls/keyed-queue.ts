interface Tail {
  last?: Promise<unknown>;
  waiting: number;
}

/** Runs tasks of one key one after the other; keys do not wait for each other. Nothing is kept once a key is idle. */
export function createKeyedQueue(options: { maxWaiting: number }) {
  const tails = new Map<string, Tail>();
  return async <T>(key: string, task: () => Promise<T>): Promise<T> => {
    const tail: Tail = tails.get(key) ?? { waiting: 0 };
    if (tail.waiting >= options.maxWaiting) throw new Error('too many requests of one session are waiting');
    const run = tail.last ? tail.last.then(task, task) : task();
    tail.last = run;
    tail.waiting += 1;
    tails.set(key, tail);
    try {
      return await run;
    } finally {
      tail.waiting -= 1;
      if (tail.waiting === 0) tails.delete(key);
    }
  };
}
