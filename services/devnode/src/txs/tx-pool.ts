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
import type { FileRegistry } from '@bufbuild/protobuf';
import type { Chain } from '../chain.ts';
import { getMessage } from '../protocol.ts';
import type { World } from '../world/world.ts';
import { createTxDecoder, refuseTx, type Tx, type TxFault, toAddress } from './decode-tx.ts';
import { executeMessage } from './execute-message.ts';
import { createWorldChanges, type TxEvent, toEvent, toTransferEvents, type WorldChanges } from './execution.ts';

/** A transaction in a block, with its outcome. `code` 0 is success. */
export interface TxRecord {
  tx: Tx;
  height: number;
  code: number;
  codespace: string;
  log: string;
  gasUsed: number;
  events: TxEvent[];
}

type Broadcast = { ok: true; hash: string } | (TxFault & { hash: string });
type Result = Pick<TxRecord, 'code' | 'codespace' | 'log' | 'events'>;

interface TxPoolParts {
  protocol: FileRegistry;
  chain: Chain;
  world: World;
  log: TxLog;
  /** Transactions of earlier blocks than those in the log. */
  past: readonly LoggedTx[];
  onChange(): void;
}

const limits = { waiting: 5_000, kept: 100_000 };
/** Where fees go: an address that no key has. */
const feeCollector = toAddress(new Uint8Array(33));

export function createTxPool({ protocol, chain, world, log, past, onChange }: TxPoolParts) {
  const decoder = createTxDecoder(protocol, chain);
  const coinDesc = getMessage(protocol, 'cosmos.base.v1beta1.Coin');
  const records: TxRecord[] = [];
  const byHash = new Map<string, TxRecord>();
  const signers = new Map<string, { sequence: bigint; publicKey: Tx['publicKey'] }>();
  const waiting: { tx: Tx; height: number }[] = [];

  const sequenceOf = (address: string) => signers.get(address)?.sequence ?? 0n;
  const waitingOf = (address: string) => waiting.filter(({ tx }) => tx.signer === address).length;

  /** A fault undoes everything, and so does an error: a logged transaction is run again at every start. */
  function run(tx: Tx, height: number, { keep }: { keep: boolean }): Result {
    const changes = createWorldChanges(world, coinDesc);
    let result: Result;
    try {
      result = execute(tx, height, changes);
    } catch {
      result = toResult(refuseTx('unknownRequest', 'this node cannot run the transaction'));
    }
    if (result.code > 0 || !keep) changes.undo();
    return result;
  }

  function execute(tx: Tx, height: number, changes: WorldChanges): Result {
    const fee = { from: tx.signer, to: feeCollector, coins: tx.fee };
    const events: TxEvent[] = [];
    const fault = checkFee(tx);
    if (fault) return toResult(fault);
    if (!changes.move(fee)) return toResult(refuseTx('insufficientFunds', `${tx.signer} cannot pay the fee`));
    if (tx.fee.length > 0) events.push(...toTransferEvents(fee));
    events.push(toEvent('tx', { acc_seq: `${tx.signer}/${tx.sequence}` }));
    const execution = { protocol, world, changes, blockTime: chain.timeOf(height), decoder };
    for (const [index, message] of tx.messages.entries()) {
      const outcome = executeMessage(execution, message, tx.signer);
      if (!outcome.ok)
        return toResult({ ...outcome, log: `failed to execute message; message index: ${index}: ${outcome.log}` });
      const all = [toEvent('message', { action: `/${message.$typeName}`, sender: tx.signer }), ...outcome.events];
      for (const event of all) {
        event.attributes.push({ key: 'msg_index', value: String(index), index: true });
        events.push(event);
      }
    }
    return { code: 0, codespace: '', log: '', events };
  }

  function include(tx: Tx, height: number): void {
    const gasUsed = toGas(tx);
    const result =
      gasUsed > tx.gasLimit
        ? toResult(refuseTx('outOfGas', `out of gas: gasWanted: ${tx.gasLimit}, gasUsed: ${gasUsed}`))
        : run(tx, height, { keep: true });
    const record = { tx, height, gasUsed, ...result };
    records.push(record);
    byHash.set(tx.hash, record);
    signers.set(tx.signer, { sequence: tx.sequence + 1n, publicKey: tx.publicKey });
  }

  function advance(): void {
    const latest = chain.latestHeight();
    const ready = waiting.findIndex(({ height }) => height > latest);
    const due = waiting.splice(0, ready < 0 ? waiting.length : ready);
    for (const { tx, height } of due) include(tx, height);
    if (due.length > 0) onChange();
  }

  function check(tx: Tx): TxFault | undefined {
    if (waiting.some((other) => other.tx.hash === tx.hash)) return refuseTx('alreadyInPool', 'tx already in mempool');
    if (waiting.length >= limits.waiting || records.length + waiting.length >= limits.kept) {
      return refuseTx('poolIsFull', 'mempool is full');
    }
    if (tx.timeoutHeight > 0n && BigInt(chain.latestHeight()) >= tx.timeoutHeight) {
      return refuseTx('timeoutHeight', `block height: ${chain.latestHeight()}, timeout height: ${tx.timeoutHeight}`);
    }
    const expected = sequenceOf(tx.signer) + BigInt(waitingOf(tx.signer));
    if (tx.sequence !== expected) {
      const found = `expected ${expected}, got ${tx.sequence}`;
      return refuseTx('wrongSequence', `account sequence mismatch, ${found}: incorrect account sequence`);
    }
    if (!decoder.isSigned(tx)) {
      const hint = `please verify account number, sequence and chain-id (${chain.id})`;
      return refuseTx('unauthorized', `signature verification failed; ${hint}`);
    }
    return checkFee(tx);
  }

  const latest = chain.latestHeight();
  for (const { height, bytes } of [...past, ...log.load()]) {
    const decoded = decoder.decode(bytes);
    // With a longer block time the current height is lower.
    if (decoded.ok) include(decoded.tx, Math.min(height, latest));
  }
  if (records.length > 0) onChange();

  return {
    /** Runs what belongs to blocks that exist by now; to be called before anything is read. */
    advance,
    broadcast(bytes: Uint8Array): Broadcast {
      const decoded = decoder.decode(bytes);
      if (!decoded.ok) return { ...decoded, hash: '' };
      const { tx } = decoded;
      const fault = check(tx);
      if (fault) return { ...fault, hash: tx.hash };
      const height = chain.latestHeight() + 1;
      log.append({ height, bytes });
      waiting.push({ tx, height });
      return { ok: true, hash: tx.hash };
    },
    simulate(bytes: Uint8Array): { ok: true; gasUsed: number; events: TxEvent[] } | TxFault {
      const decoded = decoder.decode(bytes);
      if (!decoded.ok) return decoded;
      const { code, codespace, log: text, events } = run(decoded.tx, chain.latestHeight() + 1, { keep: false });
      if (code > 0) return { ok: false, codespace, code, log: text };
      return { ok: true, gasUsed: toGas(decoded.tx), events };
    },
    find: (hash: string) => byHash.get(hash.toUpperCase()),
    records: (): readonly TxRecord[] => records,
    sequenceOf,
    publicKeyOf: (address: string) => signers.get(address)?.publicKey,
  };
}

export type TxPool = ReturnType<typeof createTxPool>;

function checkFee({ fee }: Tx): TxFault | undefined {
  return fee.every(({ amount }) => /^\d{1,78}$/.test(amount)) ? undefined : refuseTx('invalidCoins', 'invalid fee');
}

function toResult({ code, codespace, log }: TxFault): Result {
  return { code, codespace, log, events: [] };
}

function toGas(tx: Tx): number {
  return 55_000 + tx.bytes.length * 10 + tx.messages.length * 25_000;
}

interface LoggedTx {
  height: number;
  bytes: Uint8Array;
}

interface TxLog {
  load(): LoggedTx[];
  append(tx: LoggedTx): void;
}

/** One line for each transaction. Without a folder nothing is kept. */
export function createTxLog(folder: string | undefined): TxLog {
  if (folder === undefined) return { load: () => [], append: () => undefined };
  const path = join(folder, 'devnode-transactions.jsonl');
  return {
    load() {
      if (!existsSync(path)) return [];
      const text = readFileSync(path, 'utf8');
      // A line without an end was being written when the process died: nobody got an answer for it.
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
