import type { SseEventData, SseEventName } from '@palaver/contract';

/** The frames of one run as they go over the wire, numbered from 1 without gaps. Readers come and go; the log stays. */
export interface FrameLog {
  readonly length: number;
  readonly ended: boolean;
  /** Gives the frame back as it goes over the wire. */
  append<Name extends SseEventName>(name: Name, data: SseEventData[Name]): string;
  /** A frame that was numbered elsewhere. */
  appendText(frame: string): void;
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

/** `skipped` frames are known to the reader from elsewhere; numbering goes on after them. */
export function createFrameLog(skipped = 0): FrameLog {
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
      return skipped + frames.length;
    },
    get ended() {
      return ended;
    },
    append(name, data) {
      const frame = toFrame(skipped + frames.length + 1, name, data);
      this.appendText(frame);
      return frame;
    },
    appendText(frame) {
      if (ended) return;
      frames.push(frame);
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    read(after, maxCharacters) {
      let index = Math.min(Math.max(after - skipped, 0), frames.length);
      let text = '';
      while (index < frames.length && text.length < maxCharacters) {
        text += frames[index];
        index += 1;
      }
      return { text, last: skipped + index };
    },
    more(after, signal) {
      if (ended || skipped + frames.length > after || signal.aborted) return Promise.resolve();
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
