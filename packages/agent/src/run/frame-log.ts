import { promisify } from 'node:util';
import { constants, deflateRaw, inflateRawSync } from 'node:zlib';
import type { SseEvent, SseEventData, SseEventName } from '@palaver/contract';

/** The frames of one run as they go over the wire, numbered from 1 without gaps. Readers come and go; the log stays. */
export interface FrameLog {
  readonly length: number;
  readonly ended: boolean;
  append<Name extends SseEventName>(name: Name, data: SseEventData[Name]): void;
  /** A frame that was numbered elsewhere. */
  appendText(frame: string): void;
  /** No frame comes after this. */
  end(): void;
  /** The text of the frames after number `after`, at most about `maxCharacters` of it, and the number of the last. */
  read(after: number, maxCharacters: number): { text: string; last: number };
  /** Calls back when there is more to read and when the log ends, until the returned function is called. */
  watch(onChange: () => void): () => void;
  /** Compresses a log that has ended, outside the event loop; reading it again decompresses it. */
  pack(): Promise<void>;
}

const deflate = promisify(deflateRaw);

/** JSON never holds a raw line break, so one `data:` line is always enough. */
export function toFrame(number: number, name: string, data: unknown): string {
  return `event: ${name}\nid: ${number}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Text of whole frames, one by one. */
export function splitFrames(text: string): string[] {
  return text.match(/.+?\n\n/gs) ?? [];
}

/** The event of a frame that `toFrame` made. */
export function parseFrame(frame: string): SseEvent {
  const [name = '', , data = ''] = frame.split('\n');
  return { name: name.slice('event: '.length), data: JSON.parse(data.slice('data: '.length)) } as SseEvent;
}

/** `skipped` frames are known to the reader from elsewhere; numbering continues after them. */
export function createFrameLog(skipped = 0): FrameLog {
  let frames: string[] = [];
  let packed: Uint8Array | undefined;
  let count = 0;
  let ended = false;
  const watching = new Set<() => void>();

  function notify(): void {
    for (const onChange of [...watching]) onChange();
  }

  function unpack(): void {
    if (!packed) return;
    frames = splitFrames(inflateRawSync(packed).toString('utf8'));
    packed = undefined;
  }

  return {
    get length() {
      return skipped + count;
    },
    get ended() {
      return ended;
    },
    append(name, data) {
      this.appendText(toFrame(skipped + count + 1, name, data));
    },
    appendText(frame) {
      if (ended) return;
      frames.push(frame);
      count += 1;
      notify();
    },
    end() {
      ended = true;
      notify();
    },
    read(after, maxCharacters) {
      unpack();
      let index = Math.min(Math.max(after - skipped, 0), count);
      let text = '';
      while (index < count && text.length < maxCharacters) {
        text += frames[index];
        index += 1;
      }
      return { text, last: skipped + index };
    },
    watch(onChange) {
      watching.add(onChange);
      return () => watching.delete(onChange);
    },
    async pack() {
      const isIdle = () => ended && !packed && watching.size === 0;
      if (!isIdle()) return;
      const bytes = await deflate(frames.join(''), { level: constants.Z_BEST_SPEED });
      if (!isIdle()) return;
      // Copied, because zlib returns a view of a much larger buffer.
      packed = new Uint8Array(bytes);
      frames = [];
    },
  };
}
