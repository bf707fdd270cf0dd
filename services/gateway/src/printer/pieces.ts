// Large messages are printed in pieces, so that other requests are answered in between. What is long waits in a queue, and
// a mark stands for its text: NUL, its number, NUL. JSON text has no NUL of its own.
import { createHash, hash } from 'node:crypto';
import { type Pieces, WireError, type WireReader } from './wire-reader.ts';

/** What is printed at a time, in bytes on the wire: a few milliseconds. */
export const pieceBytes = 64 * 1024;
/** The same in characters of JSON: two bytes may be a message whose fields are all unset, and printed. */
const pieceRoom = 1024 * 1024;
const maxJsonMb = 64;
const joinedBytes = 4 * 1024 * 1024;

export class JsonTooLargeError extends WireError {}

/** The text between marks, and the numbers of the marks. */
type Piece = (Buffer | number)[];

/** Messages that wait to print their next piece, and how many bytes of each are left. */
const turns = new Set<{ left: number; begin: () => void }>();
let isRunning = false;

/** Each turn of the event loop prints one piece of the shortest message, so short ones do not wait for long ones. */
function waitTurn(left: number): Promise<void> {
  if (!isRunning) setImmediate(runTurn);
  isRunning = true;
  return new Promise((begin) => turns.add({ left, begin }));
}

function runTurn(): void {
  const [first, ...others] = turns;
  isRunning = first !== undefined;
  if (!first) return;
  const shortest = others.reduce((least, turn) => (turn.left < least.left ? turn : least), first);
  turns.delete(shortest);
  shortest.begin();
  setImmediate(runTurn);
}

export interface PiecesOptions {
  /** Bytes on the wire. */
  size: number;
  print(pieces: Pieces): string;
  around(run: () => void): void;
}

export async function printInPieces({ size, print, around }: PiecesOptions): Promise<Buffer> {
  let left = size;
  let printed = 0;
  const toPiece = (text: string): Piece => {
    const piece = text.split('\0').map((part, at) => (at % 2 === 0 ? Buffer.from(part) : Number(part)));
    for (const part of piece) if (typeof part !== 'number') printed += part.length;
    if (printed <= maxJsonMb * 1024 * 1024) return piece;
    throw new JsonTooLargeError(`the answer of the node is larger than ${maxJsonMb} MiB as JSON`);
  };
  const done: Piece[] = [];
  const waiting: { no: number; reader: WireReader; steps: Iterator<string, string> }[] = [];
  const pieces: Pieces = {
    defer(reader, begin) {
      const no = done.push([]) - 1;
      const own = reader.fork();
      waiting.push({ no, reader: own, steps: begin(own) });
      return toMark(no);
    },
    keep: (text) => toMark(done.push(toPiece(text)) - 1),
  };
  let whole: Piece = [];
  await waitTurn(left);
  around(() => (whole = toPiece(print(pieces))));
  for (let job = waiting.pop(); job; job = waiting.pop()) {
    const { no, reader, steps } = job;
    for (let isDone = false; !isDone; ) {
      await waitTurn(left);
      left -= pieceBytes;
      reader.room = pieceRoom;
      around(() => {
        const step = steps.next();
        isDone = step.done === true;
        done[no]?.push(...toPiece(step.value));
      });
    }
  }
  return join([...expand(whole, done)]);
}

const hashes = new WeakMap<Buffer, string>();

export function hashOf(body: Buffer): string {
  return hashes.get(body) ?? hash('sha1', body, 'base64url');
}

async function join(parts: Buffer[]): Promise<Buffer> {
  const body = Buffer.allocUnsafe(parts.reduce((size, { length }) => size + length, 0));
  const sha1 = createHash('sha1');
  let size = 0;
  let turnAt = joinedBytes;
  for (const part of parts) {
    sha1.update(part);
    part.copy(body, size);
    size += part.length;
    if (size < turnAt) continue;
    turnAt = size + joinedBytes;
    await waitTurn(0);
  }
  hashes.set(body, sha1.digest('base64url'));
  return body;
}

function toMark(no: number): string {
  return `\0${no}\0`;
}

function* expand(piece: Piece | undefined, done: Piece[]): Generator<Buffer> {
  if (!piece) throw new WireError('a name with NUL');
  for (const part of piece) {
    if (typeof part === 'number') yield* expand(done[part], done);
    else yield part;
  }
}
