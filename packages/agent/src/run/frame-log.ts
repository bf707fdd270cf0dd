import type { SseEvent, SseEventData, SseEventName } from '@palaver/contract';

/** The frames of one run as they go over the wire, numbered from 1 without gaps. Readers come and go; the log stays. */
export interface FrameLog {
  readonly length: number;
  readonly ended: boolean;
  /** Characters in memory. */
  readonly size: number;
  append<Name extends SseEventName>(name: Name, data: SseEventData[Name]): void;
  /** A frame that was numbered elsewhere. */
  appendText(frame: string): void;
  /** No frame comes after this. */
  end(): void;
  /** The text of the frames after number `after`, at most about `maxCharacters` of it, and the number of the last. */
  read(after: number, maxCharacters: number): { text: string; last: number };
  /** Calls back when there is more to read and when the log ends, until the returned function is called. */
  watch(onChange: () => void): () => void;
  /** Forgets the frames of a log that has ended. Its readers end without `done`, and come back for what is stored. */
  drop(): void;
}

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
  let count = 0;
  let size = 0;
  let ended = false;
  let isDropped = false;
  const watching = new Set<() => void>();

  function notify(): void {
    for (const onChange of [...watching]) onChange();
  }

  return {
    get length() {
      return isDropped ? 0 : skipped + count;
    },
    get size() {
      return size;
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
      size += frame.length;
      notify();
    },
    end() {
      ended = true;
      notify();
    },
    read(after, maxCharacters) {
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
    drop() {
      isDropped = true;
      frames = [];
      count = 0;
      size = 0;
      notify();
    },
  };
}
