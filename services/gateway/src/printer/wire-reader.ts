import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** The bytes are not what the descriptors say: the node's fault, never the client's. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

export const wire = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;

const maxDepth = 100;

type Steps = (reader: WireReader) => Iterator<string, string>;

/** Prints the next part of what is in `pos..end`, and moves on. */
export type Step = (reader: WireReader) => string;

export function untilEnd(step: Step): Steps {
  return function* (reader) {
    for (;;) {
      const text = step(reader);
      if (reader.pos >= reader.end) return text;
      yield text;
    }
  };
}

export interface Pieces {
  /** Runs the steps later, with a reader of their own, and gives the mark for what they print. */
  defer(reader: WireReader, steps: Steps): string;
  /** Puts long text away and gives the mark for it. */
  keep(text: string): string;
}

// The whole message is also kept as a one-byte string: cutting plain text out of it costs a fraction of a decoder call.
export class WireReader {
  readonly bytes: Buffer;
  readonly text: string;
  pos = 0;
  end: number;
  /** The end of the message that `message` moved over. */
  stop = 0;
  /** Set while a large message is printed in pieces. */
  pieces: Pieces | undefined;
  /** How many characters may still be printed at once; text inside other text counts more than once. */
  room = 4 * 1024 * 1024;
  /** The halves of the last varint or 64-bit value, as unsigned 32-bit numbers. */
  lo = 0;
  hi = 0;
  private depth = 0;

  constructor(bytes: Uint8Array, text?: string) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.text = text ?? this.bytes.toString('latin1');
    this.end = bytes.length;
  }

  fork(): WireReader {
    const reader = new WireReader(this.bytes, this.text);
    return Object.assign(reader, { pos: this.pos, end: this.end, depth: this.depth, pieces: this.pieces });
  }

  tag(): number {
    this.varint();
    if (this.hi !== 0 || this.lo < 8) throw new WireError('illegal tag');
    return this.lo;
  }

  varint(): void {
    const { bytes, end } = this;
    let { pos } = this;
    const single = bytes[pos] as number;
    if (single < 0x80 && pos < end) {
      this.pos = pos + 1;
      this.lo = single;
      this.hi = 0;
      return;
    }
    let lo = 0;
    let hi = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (pos >= end) throw new WireError('unexpected end');
      const byte = bytes[pos++] as number;
      const bits = byte & 0x7f;
      if (shift < 28) lo |= bits << shift;
      else if (shift === 28) {
        lo |= bits << 28;
        hi |= bits >> 4;
      } else hi |= bits << (shift - 32);
      if (byte < 0x80) {
        this.pos = pos;
        this.lo = lo >>> 0;
        this.hi = hi >>> 0;
        return;
      }
    }
    throw new WireError('varint longer than 64 bits');
  }

  fixed32(): number {
    const start = this.advance(4);
    return this.bytes.readUInt32LE(start);
  }

  fixed64(): void {
    const start = this.advance(8);
    this.lo = this.bytes.readUInt32LE(start);
    this.hi = this.bytes.readUInt32LE(start + 4);
  }

  advance(count: number): number {
    const start = this.pos;
    if (count > this.end - start) throw new WireError('unexpected end');
    this.pos = start + count;
    return start;
  }

  /** Moves over a length-delimited value: it is in `start..pos`. */
  span(): number {
    this.varint();
    if (this.hi !== 0) throw new WireError('length out of range');
    return this.advance(this.lo);
  }

  /** Moves over a message, length-delimited or a group: its fields are in `start..stop`. */
  message(wireType: number): number {
    const start = wireType === wire.startGroup ? this.pos : this.span();
    this.stop = wireType === wire.startGroup ? this.skipGroup() : this.pos;
    return start;
  }

  /** Runs `read` on the value at hand, with `pos..end` narrowed to it. */
  within<T>(read: (reader: WireReader) => T, wireType: number = wire.bytes): T {
    const start = this.message(wireType);
    return this.between(start, this.stop, read);
  }

  /** Runs `read` with `pos..end` narrowed to `start..stop`; afterwards the position is where it was. */
  between<T>(start: number, stop: number, read: (reader: WireReader) => T): T {
    const { pos, end } = this;
    if (++this.depth > maxDepth) throw new WireError('nested too deeply');
    this.pos = start;
    this.end = stop;
    const result = read(this);
    this.depth -= 1;
    this.pos = pos;
    this.end = end;
    return result;
  }

  over(value: Uint8Array): WireReader {
    return Object.assign(new WireReader(value), { depth: this.depth + 1, pieces: this.pieces });
  }

  skip(tag: number): void {
    const type = tag & 7;
    if (type === wire.varint) this.varint();
    else if (type === wire.fixed64) this.advance(8);
    else if (type === wire.bytes) this.span();
    else if (type === wire.fixed32) this.advance(4);
    else if (type === wire.startGroup) this.skipGroup();
    else throw new WireError('illegal wire type');
  }

  /** Returns where the end tag begins. */
  private skipGroup(): number {
    for (let open = 1; ; ) {
      const { pos } = this;
      const type = this.tag() & 7;
      if (type === wire.endGroup) open -= 1;
      else if (type === wire.startGroup) open += 1;
      else this.skip(type);
      if (open === 0) return pos;
    }
  }
}

export interface WireField {
  no: number;
  number?: number;
  bytes: Buffer;
}

const none = Buffer.alloc(0);

/** The varints and length-delimited fields of a message read without its descriptor. Throws for other bytes. */
export function readFields(message: Uint8Array): WireField[] {
  const reader = new BinaryReader(message);
  const fields: WireField[] = [];
  while (reader.pos < reader.len) {
    const [no, wireType] = reader.tag();
    if (wireType === WireType.Varint) fields.push({ no, number: Number(reader.int64()), bytes: none });
    else if (wireType === WireType.LengthDelimited) fields.push({ no, bytes: Buffer.from(reader.bytes()) });
    else reader.skip(wireType, no);
  }
  return fields;
}
