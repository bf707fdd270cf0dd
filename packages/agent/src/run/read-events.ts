import type { RunEvent } from '../plugins/agent-run.ts';
import { type FrameLog, parseFrame, splitFrames } from './frame-log.ts';

const chunkCharacters = 64 * 1024;

/** The events of a log after number `after`, as they come; ends with the log or when `signal` fires. */
export async function* readEvents(frames: FrameLog, after: number, signal?: AbortSignal): AsyncGenerator<RunEvent> {
  let last = after;
  while (!signal?.aborted) {
    const { text } = frames.read(last, chunkCharacters);
    for (const frame of splitFrames(text)) {
      last += 1;
      yield { ...parseFrame(frame), id: last };
    }
    if (text !== '') continue;
    if (!frames.ended) await untilMore(frames, last, signal);
    else {
      // The reader has frames that their owner had no time to store: it gets the end under the number it expects.
      if (last > frames.length && frames.length > 0)
        yield { ...parseFrame(frames.read(frames.length - 1, 1).text), id: last + 1 };
      return;
    }
  }
}

function untilMore(frames: FrameLog, last: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (frames.length <= last && !frames.ended && !signal?.aborted) return;
      unwatch();
      signal?.removeEventListener('abort', check);
      resolve();
    };
    const unwatch = frames.watch(check);
    signal?.addEventListener('abort', check);
    check();
  });
}
