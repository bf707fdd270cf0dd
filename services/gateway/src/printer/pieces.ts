// Large messages are printed in pieces, so that other requests are answered in between. Whatever is long waits in a queue, and
// a mark stands for its text: NUL, its number, NUL. JSON text has no NUL of its own.
import { type Pieces, type Step, WireError, type WireReader } from './wire-reader.ts';

/** What is printed at a time, in bytes on the wire: a few milliseconds. */
export const pieceBytes = 64 * 1024;

/** The text between marks, and the numbers of the marks. */
type Piece = (Buffer | number)[];

/** Messages that wait to print their next piece, and how many bytes of each are left. */
const turns = new Set<{ left: number; begin: () => void }>();
let isRunning = false;

/** In each turn of the event loop one piece of the shortest message: short ones do not wait for long ones, of which few are begun at a time. */
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
  /** Runs each piece. */
  around(run: () => void): void;
}

/** Runs `print` with pieces, then everything that it deferred. */
export async function printInPieces({ size, print, around }: PiecesOptions): Promise<Buffer> {
  let left = size;
  const done: Piece[] = [];
  const waiting: { no: number; reader: WireReader; step: Step }[] = [];
  const pieces: Pieces = {
    defer(reader, step) {
      const no = done.push([]) - 1;
      waiting.push({ no, reader: reader.fork(), step });
      return toMark(no);
    },
    keep: (text) => toMark(done.push(toPiece(text)) - 1),
  };
  let whole: Piece = [];
  await waitTurn(left);
  around(() => (whole = toPiece(print(pieces))));
  for (let job = waiting.pop(); job; job = waiting.pop()) {
    const { no, reader, step } = job;
    for (let text: string | undefined; text === undefined; ) {
      await waitTurn(left);
      left -= pieceBytes;
      around(() => (text = step(reader)));
      if (text !== undefined) done[no] = toPiece(text);
    }
  }
  return Buffer.concat([...expand(whole, done)]);
}

function toMark(no: number): string {
  return `\0${no}\0`;
}

function toPiece(text: string): Piece {
  return text.split('\0').map((part, at) => (at % 2 === 0 ? Buffer.from(part) : Number(part)));
}

function* expand(piece: Piece | undefined, done: Piece[]): Generator<Buffer> {
  if (!piece) throw new WireError('a name with NUL');
  for (const part of piece) {
    if (typeof part === 'number') yield* expand(done[part], done);
    else yield part;
  }
}
