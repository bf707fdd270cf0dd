import { setImmediate as letOthersRun } from 'node:timers/promises';

const defaultSize = 200;

// Each piece begins after the last row of the one before: every row comes once. Requests are answered in between.
export async function* readPieces<Row>(
  load: (after: Row | undefined, limit: number) => Promise<Row[]>,
  { size = defaultSize }: { size?: number } = {},
): AsyncGenerator<Row[]> {
  for (let last: Row | undefined; ; ) {
    const rows = await load(last, size);
    if (rows.length > 0) yield rows;
    if (rows.length < size) return;
    last = rows.at(-1);
    await letOthersRun();
  }
}

/** `change` returns how many rows it changed, and is called again as long as that is a whole piece. */
export async function changePieces(
  change: (limit: number) => Promise<number>,
  { size = defaultSize }: { size?: number } = {},
) {
  while ((await change(size)) >= size) await letOthersRun();
}

const sliceMs = 10;
let lastTurn: Promise<unknown> = Promise.resolve();

/** Pauses by time, because a row may be long. Concurrent callers take turns: each has the event loop for a moment, then requests have it. */
export async function mapRows<Row, Result>(rows: readonly Row[], toResult: (row: Row) => Result): Promise<Result[]> {
  const results: Result[] = [];
  let endsAt = 0;
  for (const row of rows) {
    if (performance.now() >= endsAt) {
      lastTurn = lastTurn.then(() => letOthersRun());
      await lastTurn;
      endsAt = performance.now() + sliceMs;
    }
    results.push(toResult(row));
  }
  return results;
}
