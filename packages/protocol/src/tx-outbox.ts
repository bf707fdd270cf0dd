import { randomUUID } from 'node:crypto';
import type { Logger } from '@palaver/service-kit';
import type { Store } from '@palaver/store';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { GatewayClient } from './gateway-client.ts';
import { broadcastTx, readAccount, readLatestBlock, readTx, type TxResponse, toStorable } from './read-chain.ts';
import { readFate } from './read-fate.ts';
import type { SigningAccount, TxMessage } from './signing-account.ts';
import type { OutboxRow } from './tx-outbox-schema.ts';

type Tables = Record<string, OutboxRow>;
type Trx<T> = Transaction<T>;

export interface TxEntry {
  /** What it is for; the same id again changes nothing. */
  id: string;
  message: TxMessage;
  memo?: string;
}

/**
 * Messages that reach the chain exactly once.
 *
 * @example
 * ```ts
 * import { toSend, type TxOutbox } from '@palaver/protocol';
 * import type { Transaction } from 'kysely';
 *
 * export async function pay<T>(outbox: TxOutbox<T>, trx: Transaction<T>, to: string) {
 *   const message = toSend({ from: outbox.address, to, coins: [{ denom: 'uixo', amount: '700' }] });
 *   await outbox.add(trx, { id: `payment:${to}`, message }, Date.now());
 * }
 * ```
 */
export interface TxOutbox<T> {
  address: string;
  /** Notes a message in the caller's transaction; from the commit on it will be on the chain once. */
  add(trx: Trx<T>, entry: TxEntry, now: number): Promise<void>;
  /** Does what can be done now: follows what was sent, or signs and sends what waits. */
  step(): Promise<void>;
  list(status: OutboxRow['status'], limit: number): Promise<OutboxRow[]>;
  /** Gives a dead entry another life, in the caller's transaction; false where there is none of that id. */
  revive(trx: Trx<T>, id: string): Promise<boolean>;
}

export interface TxOutboxParts<T> {
  store: Store<T>;
  /** The first part of its tables' names. */
  service: string;
  gateway: GatewayClient;
  account: SigningAccount;
  logger: Logger;
  /** Entries that go into one transaction. */
  batch?: number;
  /** Refusals by the chain that mean that the message took effect earlier, as `codespace/code`. */
  doneCodes?: readonly string[];
  /** Runs in the transaction that books an entry as included or dead. */
  onSettled?(trx: Trx<T>, row: OutboxRow, outcome: 'included' | 'dead'): Promise<void>;
}

interface Release {
  fault: string;
  /** Whether it is a failed attempt of the entry itself. */
  counts: boolean;
  /** Whether the transaction is in a block, so that its sequence is used up. */
  isUsed?: boolean;
  /** Whether the bytes were sent once, and the only node that saw them refused them. */
  isRefused?: boolean;
}

const leaseMs = 15_000;
const maxAttempts = 5;
const retryMs = 10_000;
const unclearMs = 60_000;
/** A transaction that is in none of so many blocks will be in none. */
const timeoutBlocks = 30;
/** Nodes find a transaction a little later than they include it. */
const indexBlocks = 2;
const [alreadyInPool, wrongSequence] = [19, 32];

/**
 * Transactions of one account, each message on the chain exactly once. Signed bytes are stored before they are sent, and a
 * retry sends the same bytes. A message is signed again in two cases only: the first node that got the bytes refused them and
 * they were sent to no other, or the last block that may include them has passed and the account's sequence proves that none
 * did. One transaction is on its way at a time, so sequences have no gaps; a lease keeps several instances from the same work.
 *
 * @example
 * ```ts
 * import { createGatewayClient, createSigningAccount, createTxOutbox } from '@palaver/protocol';
 * import { outboxMigration, outboxResendMigration } from '@palaver/protocol';
 * import { createLogger } from '@palaver/service-kit';
 * import { openStore } from '@palaver/store';
 *
 * const store = await openStore('file:./data/herd.sqlite');
 * await store.migrate('herd', [outboxMigration('herd', '001-outbox'), outboxResendMigration('herd', '002-resend')]);
 * const outbox = createTxOutbox({
 *   store,
 *   service: 'herd',
 *   gateway: createGatewayClient({ url: 'http://127.0.0.1:1317' }),
 *   account: await createSigningAccount('0f'.repeat(32), { fee: '5000uixo', gas: 300_000 }),
 *   logger: createLogger({ name: 'herd', level: 'info' }),
 * });
 * setInterval(() => outbox.step(), 1_000);
 * ```
 */
export function createTxOutbox<T>(parts: TxOutboxParts<T>): TxOutbox<T> {
  const { store, service, gateway, account, logger, batch = 20, doneCodes = [], onSettled } = parts;
  const table = `${service}_tx`;
  const holder = randomUUID();
  const db = store.db as unknown as Kysely<Tables>;
  const inTransaction = (work: (trx: Transaction<Tables>, own: Trx<T>) => Promise<void>) =>
    store.transaction((trx) => work(trx as unknown as Transaction<Tables>, trx as Trx<T>));

  async function lease(): Promise<boolean> {
    const now = Date.now();
    const leases = sql.table(`${service}_tx_lease`);
    await sql`insert into ${leases} (address, holder, until) values (${account.address}, '', 0)
      on conflict do nothing`.execute(db);
    const { rows } = await sql`update ${leases} set holder = ${holder}, until = ${now + leaseMs}
      where address = ${account.address} and (holder = ${holder} or until < ${now}) returning address`.execute(db);
    return rows.length > 0;
  }

  const report = (what: string, fault: { message: string }) =>
    logger.warn({ reason: fault.message, address: account.address }, what);

  /** Books the end of entries that went out together. Only those that are still as they were read. */
  async function settle(rows: OutboxRow[], { code, codespace, raw_log: log, height }: TxResponse): Promise<void> {
    const isIncluded = code === 0 || (rows.length === 1 && doneCodes.includes(`${codespace}/${code}`));
    if (!isIncluded) return release(rows, { fault: toFault(codespace, code, log), counts: true, isUsed: true });
    for (const row of rows) {
      await inTransaction(async (trx, own) => {
        const change = { status: 'included' as const, height: Number(height), fault: null };
        const done = await trx
          .updateTable(table)
          .set(change)
          .where('id', '=', row.id)
          .where('hash', '=', row.hash)
          .where('status', 'in', ['signed', 'unclear'])
          .executeTakeFirst();
        if (done.numUpdatedRows > 0n) await onSettled?.(own, { ...row, ...change }, 'included');
      });
    }
  }

  /**
   * Entries whose transaction had no effect and cannot have one any more: to be signed again, or dead. All of them in one
   * transaction, for the bytes that are sent again as long as one is signed hold the messages of all.
   */
  async function release(rows: OutboxRow[], { fault, counts, isUsed, isRefused }: Release): Promise<void> {
    const isShared = rows.length > 1;
    await inTransaction(async (trx, own) => {
      const freed = await trx
        .updateTable(table)
        .set({ bytes: null, hash: null, refusal: null, resent: 0 })
        .where('hash', '=', rows[0]?.hash ?? '')
        .where('status', 'in', ['signed', 'unclear'])
        .where('resent', 'in', isRefused ? [0] : [0, 1])
        .executeTakeFirst();
      if (Number(freed.numUpdatedRows) !== rows.length) throw new Error('another instance follows these entries');
      for (const row of rows) {
        const attempts = row.attempts + (counts && !isShared ? 1 : 0);
        const status = attempts >= maxAttempts ? ('dead' as const) : ('waiting' as const);
        const next_at = Date.now() + (isShared ? 0 : retryMs * 2 ** attempts);
        const sequence = isUsed ? row.sequence : null;
        const alone = isShared ? 1 : row.alone;
        // What the chain refused says more than that a later attempt was lost.
        const kept = counts ? fault : (row.fault ?? fault);
        const change = { status, attempts, next_at, alone, fault: kept, sequence };
        await trx.updateTable(table).set(change).where('id', '=', row.id).execute();
        if (status === 'dead') await onSettled?.(own, { ...row, ...change, bytes: null, hash: null }, 'dead');
      }
    });
    logger.warn({ ids: rows.map(({ id }) => id), reason: fault }, 'a transaction had no effect');
  }

  /** Changes all entries of a transaction that is on its way; false where it is no more. */
  async function mark(rows: OutboxRow[], change: Partial<OutboxRow>): Promise<boolean> {
    const done = await db
      .updateTable(table)
      .set(change)
      .where('hash', '=', rows[0]?.hash ?? '')
      .where('status', 'in', ['signed', 'unclear'])
      .executeTakeFirst();
    return done.numUpdatedRows > 0n;
  }

  async function broadcast(rows: OutboxRow[], { isFirst }: { isFirst: boolean }): Promise<void> {
    const sent = await broadcastTx(gateway, rows[0]?.bytes ?? '');
    if (!sent.ok) return report('a transaction could not be sent; its bytes are kept', sent);
    // A sequence that is used up may be used up by these very bytes: the search by hash decides.
    if (sent.code === 0 || sent.code === alreadyInPool || sent.code === wrongSequence) return;
    const fault = toFault(sent.codespace, sent.code, sent.log);
    if (isFirst) return release(rows, { fault, counts: true, isRefused: true });
    // Another node may have taken them at an earlier sending.
    await mark(rows, { refusal: fault });
    report('a node refused a transaction that was sent before; its bytes are kept', { message: fault });
  }

  async function follow(rows: OutboxRow[]): Promise<void> {
    const [{ hash, sequence, timeout_height: timeout, refusal }] = rows as [OutboxRow, ...OutboxRow[]];
    const found = await readTx(gateway, hash ?? '');
    if (found.ok) return settle(rows, found.response);
    if (found.kind !== 'missing') return report('a transaction could not be looked up', found);
    const latest = await readLatestBlock(gateway);
    if (!latest.ok) return report('the latest block could not be read', latest);
    if (latest.height <= Number(timeout) + indexBlocks) {
      // Noted before it is sent: whoever sent the bytes first must not take a refusal for the only answer.
      if (await mark(rows, { resent: 1 })) await broadcast(rows, { isFirst: false });
      return;
    }
    const sent = { hash: hash ?? '', address: account.address, sequence: Number(sequence), height: latest.height };
    const fate = await readFate(gateway, sent);
    if (!fate.ok) return report('whether a transaction was included could not be read', fate);
    if (fate.response) return settle(rows, fate.response);
    if (fate.isUnclear) return hold(rows, sent);
    return release(rows, { fault: refusal ?? 'in no block until its timeout', counts: refusal !== null });
  }

  /** Keeps entries that may have taken effect from being signed again, without stopping the others. */
  async function hold(rows: OutboxRow[], { hash, sequence }: { hash: string; sequence: number }): Promise<void> {
    const fault = `sequence ${sequence} is used up, but no node has transaction ${hash}`;
    await mark(rows, { status: 'unclear', fault, next_at: Date.now() + unclearMs });
    const advice = 'add a node with a whole transaction index to GATEWAY_UPSTREAMS; the entries wait until it is found';
    logger.error({ ids: rows.map(({ id }) => id), address: account.address, reason: fault }, advice);
  }

  async function signAndSend(rows: OutboxRow[]): Promise<void> {
    const [latest, chainAccount] = await Promise.all([readLatestBlock(gateway), readAccount(gateway, account.address)]);
    if (!latest.ok) return report('the latest block could not be read', latest);
    if (!chainAccount.ok)
      return report('the account that signs could not be read; on a live chain it needs coins', chainAccount);
    // What the gateway answers may be a block old.
    const last = await db
      .selectFrom(table)
      .select('sequence')
      .where('sequence', 'is not', null)
      .orderBy('sequence', 'desc')
      .limit(1)
      .executeTakeFirst();
    const sequence = Math.max(chainAccount.sequence, (last?.sequence ?? -1) + 1);
    const timeout_height = latest.height + timeoutBlocks;
    const signed = await account.sign({
      messages: rows.map(({ message }) => fromJson(message)),
      memo: rows.length === 1 ? (rows[0]?.memo ?? '') : '',
      chainId: latest.chainId,
      accountNumber: chainAccount.accountNumber,
      sequence,
      timeoutHeight: timeout_height,
    });
    const bytes = Buffer.from(signed.bytes).toString('base64');
    const change = { bytes, hash: signed.hash, sequence, timeout_height, resent: 0, refusal: null };
    const ids = rows.map(({ id }) => id);
    await inTransaction(async (trx) => {
      const done = await trx
        .updateTable(table)
        .set({ ...change, status: 'signed' })
        .where('id', 'in', ids)
        .where('status', '=', 'waiting')
        .executeTakeFirst();
      if (Number(done.numUpdatedRows) !== ids.length) throw new Error('another instance signs these entries');
    });
    await broadcast(
      rows.map((row) => ({ ...row, ...change, status: 'signed' as const })),
      { isFirst: true },
    );
  }

  return {
    address: account.address,
    async add(trx, { id, message, memo = '' }, now) {
      const row = { id, message: toJson(message), memo, status: 'waiting' as const, alone: memo === '' ? 0 : 1 };
      await (trx as unknown as Transaction<Tables>)
        .insertInto(table)
        .values({ ...row, attempts: 0, next_at: 0, created_at: now } as OutboxRow)
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
    async step() {
      if (!(await lease())) return;
      const now = Date.now();
      const sent = await db.selectFrom(table).selectAll().where('status', 'in', ['signed', 'unclear']).execute();
      const due = sent.find(({ status }) => status === 'signed') ?? sent.find(({ next_at }) => next_at <= now);
      if (due) return follow(sent.filter(({ hash }) => hash === due.hash));
      const waiting = await db
        .selectFrom(table)
        .selectAll()
        .where('status', '=', 'waiting')
        .where('next_at', '<=', now)
        .orderBy('created_at')
        .orderBy('id')
        .limit(batch)
        .execute();
      const [first] = waiting;
      if (first) await signAndSend(first.alone ? [first] : waiting.filter(({ alone }) => !alone));
    },
    list: (status, limit) =>
      db.selectFrom(table).selectAll().where('status', '=', status).orderBy('created_at').limit(limit).execute(),
    async revive(trx, id) {
      const done = await (trx as unknown as Transaction<Tables>)
        .updateTable(table)
        .set({ status: 'waiting', attempts: 0, next_at: 0, alone: 1 })
        .where('id', '=', id)
        .where('status', '=', 'dead')
        .executeTakeFirst();
      return done.numUpdatedRows > 0n;
    },
  };
}

const toFault = (codespace: string, code: number, log: string) =>
  toStorable(`${codespace} ${code}: ${log}`).slice(0, 500);

function toJson({ typeUrl, value }: TxMessage): string {
  return JSON.stringify({ typeUrl, value: Buffer.from(value).toString('base64') });
}

function fromJson(text: string): TxMessage {
  const { typeUrl, value } = JSON.parse(text) as { typeUrl: string; value: string };
  return { typeUrl, value: Buffer.from(value, 'base64') };
}
