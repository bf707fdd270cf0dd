import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';

/** A transaction with the height of the block that holds it. */
export interface LoggedTx {
  height: number;
  bytes: Uint8Array;
}

export interface TxLog {
  load(): LoggedTx[];
  append(tx: LoggedTx): void;
}

/** Transactions in a file, one line each. Without a folder nothing is kept. */
export function createTxLog(folder: string | undefined): TxLog {
  if (folder === undefined) return { load: () => [], append: () => undefined };
  const path = join(folder, 'devnode-transactions.jsonl');
  return {
    load() {
      if (!existsSync(path)) return [];
      const text = readFileSync(path, 'utf8');
      // A line without an end was being written when the process died: nobody has had an answer for it.
      const end = text.lastIndexOf('\n') + 1;
      if (end < text.length) truncateSync(path, Buffer.byteLength(text.slice(0, end)));
      return parseLines(text.slice(0, end));
    },
    append({ height, bytes }) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const file = openSync(path, 'a', 0o600);
      try {
        appendFileSync(file, `${JSON.stringify({ height, tx: Buffer.from(bytes).toString('base64') })}\n`);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    },
  };
}

/** Payments between two accounts of the bundled seed, so that a new chain has transactions to look at. */
export function loadSeedTxs(): LoggedTx[] {
  return parseLines(readFileSync(new URL('../../seed/transactions.jsonl', import.meta.url), 'utf8'));
}

function parseLines(text: string): LoggedTx[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { height, tx } = JSON.parse(line) as { height: number; tx: string };
      return { height, bytes: Buffer.from(tx, 'base64') };
    });
}
