import type { SseEventData, SseEventName } from '@palaver/contract';

/** The frames of one run as they go over the wire, numbered from 1 without gaps. Readers come and go; the log stays. */
export interface FrameLog {
  readonly length: number;
  readonly ended: boolean;
  append<Name extends SseEventName>(name: Name, data: SseEventData[Name]): void;
  /** No frame comes after this. */
  end(): void;
  /** The text of the frames after number `after`, at most about `maxCharacters` of it, and the number of the last. */
  read(after: number, maxCharacters: number): { text: string; last: number };
  /** Resolves when there is more than `after`, when the log ends, or when the signal fires. */
  more(after: number, signal: AbortSignal): Promise<void>;
}

/** JSON never holds a raw line break, so one `data:` line is always enough. */
export function toFrame(number: number, name: string, data: unknown): string {
  return `event: ${name}\nid: ${number}\ndata: ${JSON.stringify(data)}\n\n`;
}

export function createFrameLog(): FrameLog {
  const frames: string[] = [];
  const waiting = new Set<() => void>();
  let ended = false;

  function wake(): void {
    if (waiting.size === 0) return;
    const woken = [...waiting];
    waiting.clear();
    for (const resume of woken) resume();
  }

  return {
    get length() {
      return frames.length;
    },
    get ended() {
      return ended;
    },
    append(name, data) {
      if (ended) return;
      frames.push(toFrame(frames.length + 1, name, data));
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    read(after, maxCharacters) {
      let last = Math.min(after, frames.length);
      let text = '';
      while (last < frames.length && text.length < maxCharacters) {
        text += frames[last];
        last += 1;
      }
      return { text, last };
    },
    more(after, signal) {
      if (ended || frames.length > after || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const resume = () => {
          signal.removeEventListener('abort', resume);
          waiting.delete(resume);
          resolve();
        };
        signal.addEventListener('abort', resume);
        waiting.add(resume);
      });
    },
  };
}
