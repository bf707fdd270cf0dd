import { errorCode, type FrameHead, flag, frameType, ProtocolError } from './frames.ts';
import { type Fields, HpackDecoder } from './hpack.ts';

/** Bytes of one block of headers, and the frames it may come in. */
const maxBlock = 128 * 1024;
const maxBlockFrames = 32;

export interface HeaderBlock {
  stream: number;
  fields: Fields;
  /** Whether it ends the stream. */
  isLast: boolean;
}

/** Puts blocks of headers together, which may come in several frames, and decodes them. */
export class HeaderBlocks {
  private readonly decoder = new HpackDecoder();
  /** The block that is coming, while it is spread over several frames. */
  private block: { stream: number; flags: number; parts: Buffer[]; size: number } | undefined;

  /** Nothing may come between the frames of a block, and none may continue a block that was not begun. */
  check({ type, stream }: FrameHead): void {
    const isContinuation = type === frameType.continuation;
    if (this.block ? !isContinuation || stream !== this.block.stream : isContinuation)
      throw new ProtocolError(errorCode.protocol);
  }

  /** Takes one frame's part; undefined until the block is whole. */
  take(frame: FrameHead, part: Buffer): HeaderBlock | undefined {
    this.block ??= { stream: frame.stream, flags: frame.flags, parts: [], size: 0 };
    const { stream, flags, parts } = this.block;
    parts.push(part);
    this.block.size += part.length;
    if (this.block.size > maxBlock || parts.length > maxBlockFrames) throw new ProtocolError(errorCode.enhanceYourCalm);
    if (!(frame.flags & flag.endHeaders)) return undefined;
    this.block = undefined;
    const fields = this.decoder.decode(parts.length === 1 ? part : Buffer.concat(parts));
    return { stream, fields, isLast: (flags & flag.endStream) !== 0 };
  }
}
