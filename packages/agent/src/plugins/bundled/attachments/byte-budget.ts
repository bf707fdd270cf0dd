import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@palaver/contract';

/** What the files of one message take. */
export interface ByteShare {
  /** Counts bytes that arrive; throws where there is no room for them. */
  take(count: number): void;
  free(): void;
  /** Does the work as soon as there is room for it. */
  whenFree(work: () => Promise<void>, signal: AbortSignal): Promise<void>;
}

class NoRoom extends AppError {}

const retryMs = 500;

/** Bounds the bytes of files that are in memory at a time, of one user and of all. */
export function createByteBudget(limits: { total: number; perUser: number }) {
  const users = new Map<string, number>();
  let total = 0;

  function add(userDid: string, count: number): void {
    total += count;
    const own = (users.get(userDid) ?? 0) + count;
    if (own > 0) users.set(userDid, own);
    else users.delete(userDid);
  }

  return {
    open(userDid: string): ByteShare {
      let taken = 0;
      const share: ByteShare = {
        take(count) {
          const own = users.get(userDid) ?? 0;
          if (total + count > limits.total || own + count > limits.perUser)
            throw new NoRoom('UNAVAILABLE', 'Too many files are being read. Send the message again in a moment.');
          taken += count;
          add(userDid, count);
        },
        free() {
          add(userDid, -taken);
          taken = 0;
        },
        async whenFree(work, signal) {
          for (;;) {
            signal.throwIfAborted();
            try {
              return await work();
            } catch (error) {
              share.free();
              if (!(error instanceof NoRoom)) throw error;
            }
            await sleep(retryMs, undefined, { signal });
          }
        },
      };
      return share;
    },
  };
}
