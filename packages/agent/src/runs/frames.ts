import type { EndedRunStatus, RunStatus, SseEvent, SseEventData, SseEventName } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import type { Broadcast } from '../cluster/broadcast.ts';
import type { RunEvent } from '../define/agent-run.ts';
import type { OwnedRun } from '../store/run-transitions.ts';
import type { Frames } from '../store/run-writes.ts';
import type { RunStore } from '../store/runs.ts';
import { isElsewhere } from './transitions.ts';

const chunkCharacters = 64 * 1024;
const storeMs = 1_000;
/** While a reader on another instance follows. */
const followedMs = 100;
/** Followers say every few seconds that they are still there. */
const followedForMs = 12_000;

/** JSON never holds a raw line break, so one `data:` line is always enough. */
export function toFrame(number: number, name: string, data: unknown): string {
  return `event: ${name}\nid: ${number}\ndata: ${JSON.stringify(data)}\n\n`;
}

export function splitFrames(text: string): string[] {
  return text.match(/.+?\n\n/gs) ?? [];
}

export function parseFrame(frame: string): SseEvent {
  const [name = '', , data = ''] = frame.split('\n');
  return { name: name.slice('event: '.length), data: JSON.parse(data.slice('data: '.length)) } as SseEvent;
}

export type FrameLog = ReturnType<typeof createFrameLog>;

/** The frames of one run, numbered from 1 without gaps. `skipped` frames are known to the reader from elsewhere. */
export function createFrameLog(skipped = 0) {
  let frames: string[] = [];
  let size = 0;
  let ended = false;
  let isDropped = false;
  const watching = new Set<() => void>();

  function notify(): void {
    for (const onChange of [...watching]) onChange();
  }

  function appendText(frame: string): void {
    if (ended) return;
    frames.push(frame);
    size += frame.length;
    notify();
  }

  return {
    get length() {
      return isDropped ? 0 : skipped + frames.length;
    },
    get size() {
      return size;
    },
    get ended() {
      return ended;
    },
    append<Name extends SseEventName>(name: Name, data: SseEventData[Name]): void {
      appendText(toFrame(skipped + frames.length + 1, name, data));
    },
    appendText,
    end(): void {
      ended = true;
      notify();
    },
    /** The text of the frames after number `after`, at most about `maxCharacters` of it, and the number of the last. */
    read(after: number, maxCharacters: number): { text: string; last: number } {
      let index = Math.min(Math.max(after - skipped, 0), frames.length);
      let text = '';
      while (index < frames.length && text.length < maxCharacters) {
        text += frames[index];
        index += 1;
      }
      return { text, last: skipped + index };
    },
    /** The end under the number that a reader expects who has as many frames or more; empty where the run continues elsewhere. */
    endAfter(number: number): string {
      const last = frames.at(-1) ?? '';
      return last.startsWith('event: done\n') ? last.replace(/^id: \d+$/m, `id: ${number + 1}`) : '';
    },
    /** Calls back when there is more to read and when the log ends; returns a function that stops this. */
    watch(onChange: () => void): () => void {
      watching.add(onChange);
      return () => watching.delete(onChange);
    },
    /** Forgets the frames of a log that has ended. Its readers end without `done`, and come back for what is stored. */
    drop(): void {
      isDropped = true;
      frames = [];
      size = 0;
      notify();
    },
  };
}

/** Resolves when the log is as asked, or when `signal` fires. */
export function untilFrames(frames: FrameLog, isReached: () => boolean, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (!isReached() && !signal?.aborted) return;
      unwatch();
      signal?.removeEventListener('abort', check);
      resolve();
    };
    const unwatch = frames.watch(check);
    signal?.addEventListener('abort', check);
    check();
  });
}

/** The events of a log after number `after`, as they come; ends with the log or when `signal` fires. */
export async function* readEvents(frames: FrameLog, after: number, signal?: AbortSignal): AsyncGenerator<RunEvent> {
  let last = after;
  let isWhole = false;
  while (!signal?.aborted) {
    const { text } = frames.read(last, chunkCharacters);
    for (const frame of splitFrames(text)) {
      last += 1;
      const event = parseFrame(frame);
      isWhole = event.name === 'done';
      yield { ...event, id: last };
    }
    if (text !== '') continue;
    if (frames.ended) {
      const end = isWhole ? '' : frames.endAfter(last);
      if (end !== '') yield { ...parseFrame(end), id: last + 1 };
      return;
    }
    await untilFrames(frames, () => frames.length > last || frames.ended, signal);
  }
}

export interface FrameKeeperParts {
  runs: Pick<RunStore, 'addFrames' | 'state'>;
  broadcast: Pick<Broadcast, 'publish'>;
  logger: Logger;
  stored: number;
  onNewOwner(): void;
}

export type FrameKeeper = ReturnType<typeof keepFrames>;

/** Stores the frames of a run in batches while it runs, so that they outlive this process and are read by other instances. */
export function keepFrames(
  run: { frames: FrameLog; status: RunStatus; toDone(status: EndedRunStatus, number?: number): string },
  owned: OwnedRun,
  parts: FrameKeeperParts,
) {
  const { runId } = owned;
  let { stored } = parts;
  let storing: Promise<void> | undefined;
  let followedUntil = 0;
  let isFailing = false;
  let timer = setInterval(flush, storeMs);

  const isFollowed = () => Date.now() < followedUntil;

  function unstored(): Frames {
    const { text, last } = run.frames.read(stored, Number.POSITIVE_INFINITY);
    return { first: stored + 1, last, body: text };
  }

  function toLastFrames(status: EndedRunStatus): Frames {
    const frames = unstored();
    if (run.frames.ended) {
      if (status === run.status) return frames;
      // It ended here as failed, because its end could not be stored. Where its abort is confirmed it is stored as aborted.
      const others = splitFrames(frames.body).slice(0, -1).join('');
      return { ...frames, body: others + run.toDone(status, frames.last) };
    }
    return { ...frames, last: frames.last + 1, body: frames.body + run.toDone(status) };
  }

  async function store(): Promise<void> {
    const frames = unstored();
    try {
      if (await parts.runs.addFrames(owned, frames)) {
        stored = frames.last;
        if (isFollowed()) announce(frames);
      } else {
        const state = await parts.runs.state(runId);
        if (state && isElsewhere(state, owned.epoch)) parts.onNewOwner();
      }
      isFailing = false;
    } catch (error) {
      if (!isFailing) parts.logger.warn({ err: error, runId }, 'frames could not be stored; they are kept');
      isFailing = true;
    }
  }

  function announce({ first, body }: Frames): void {
    parts.broadcast.publish({ kind: 'frames', runId, first, body });
  }

  /** False if frames cannot be stored now. */
  async function flush(): Promise<boolean> {
    const { length } = run.frames;
    while (length > stored) {
      const before = stored;
      storing ??= store().finally(() => {
        storing = undefined;
      });
      await storing;
      if (stored === before) return false;
    }
    return true;
  }

  function setPace(ms: number): void {
    clearInterval(timer);
    timer = setInterval(() => {
      if (ms === followedMs && !isFollowed()) setPace(storeMs);
      else void flush();
    }, ms);
  }

  return {
    flush,
    toLastFrames,
    follow(): void {
      if (!isFollowed()) setPace(followedMs);
      followedUntil = Date.now() + followedForMs;
      void flush();
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      while (storing) await storing;
    },
    announceEnd(status: EndedRunStatus): void {
      if (isFollowed()) announce(toLastFrames(status));
    },
  };
}
