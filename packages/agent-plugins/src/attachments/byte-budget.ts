import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@palaver/contract';
import { type ByteShare, createByteCounter } from '@palaver/service-kit/internal';

class NoRoom extends AppError {}

const maxBytes = 128_000_000;
const maxBytesPerUser = 64_000_000;
const retryMs = 500;

/** Bytes of files in memory, from when they arrive until their run waits or ends. */
export const fileBytes = createByteCounter(
  ({ own, others }) => own <= maxBytesPerUser && own + others <= maxBytes,
  () => new NoRoom('UNAVAILABLE', 'Too many files are being read. Send the message again in a moment.'),
);

/** Does the work as soon as there is room for what it takes. */
export async function whenFree(share: ByteShare, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
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
}
