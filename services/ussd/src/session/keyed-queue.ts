/** Runs tasks of one key one after the other; keys do not wait for each other. Nothing is kept once a key is idle. */
export function createKeyedQueue(options: { maxWaiting: number }) {
  const tails = new Map<string, { last: Promise<unknown>; waiting: number }>();
  return async <T>(key: string, task: () => Promise<T>): Promise<T> => {
    const tail = tails.get(key) ?? { last: Promise.resolve(), waiting: 0 };
    if (tail.waiting >= options.maxWaiting) throw new Error('too many requests of one session are waiting');
    const before = tail.last;
    const idle = tail.waiting === 0;
    const run = idle ? task() : before.then(task, task);
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
