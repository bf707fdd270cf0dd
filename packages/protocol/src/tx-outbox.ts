import { AppError } from '@palaver/contract';
import type { Logger } from '@palaver/service-kit';
import type { Store } from '@palaver/store';
import type { Transaction } from 'kysely';
import type { GatewayClient, GatewayFault } from './gateway-client.ts';
import { fromSubmitClaim, type NewClaim, readClaim } from './messages.ts';
import { createOutboxTable, type OnSettled, type OutboxRow, type Release } from './outbox-table.ts';
import {
  broadcastTx,
  readAccount,
  readLatestBlock,
  readTx,
  readTxOfSequence,
  type TxResponse,
  toStorable,
} from './read-chain.ts';
import type { SigningAccount, TxMessage } from './signing-account.ts';

export interface TxEntry {
  /** What it is for; the same id again changes nothing. */
  id: string;
  message: TxMessage;
  memo?: string;
}

/** Messages that reach the chain exactly once. */
export interface TxOutbox<T> {
  address: string;
  /** Queues a message in the caller's transaction; once committed, it will be on the chain once. */
  add(trx: Transaction<T>, entry: TxEntry, now: number): Promise<void>;
  /** Follows what was sent, or signs and sends what waits. */
  step(): Promise<void>;
  list(status: OutboxRow['status'], limit: number): Promise<OutboxRow[]>;
  /** Queues a dead entry again, in the caller's transaction; false if there is none of that id. */
  revive(trx: Transaction<T>, id: string, message?: TxMessage): Promise<boolean>;
  /** The claim of a dead entry whose id is lost: the chain has a claim of another agent under it. */
  findTakenClaim(id: string): Promise<NewClaim | undefined>;
  /** Searches for an unclear transaction now; returns its entries after that, none if it is not unclear. */
  lookUp(hash: string): Promise<OutboxRow[]>;
  /** An operator's decision about an unclear transaction. It is searched for once more; what that finds counts, not the decision. */
  decide(hash: string, decision: 'included' | 'send-again'): Promise<OutboxRow[]>;
}

export interface TxOutboxParts<T> {
  store: Store<T>;
  /** The first part of the names of its tables. */
  service: string;
  gateway: GatewayClient;
  account: SigningAccount;
  logger: Logger;
  batch?: number;
  onSettled?: OnSettled<T>;
}

const unclearMs = 60_000;
const timeoutBlocks = 30;
/** Nodes find a transaction a little later than they include it. */
const indexBlocks = 2;
const [alreadyInPool, wrongSequence] = [19, 32];
const claimExists = 'claims/1105';

/**
 * Transactions of one account, each message on the chain exactly once. Signed bytes are stored before they are sent, and a
 * retry sends the same bytes. A message is signed again in two cases only: the first node that got the bytes refused them and
 * they were sent to no other, or the last block that may include them has passed and the account's sequence proves that none
 * did. One transaction is on its way at a time, so sequences have no gaps; a lease keeps several instances from the same work.
 *
 * @example
 * ```ts
 * import { createGatewayClient, createOutboxTables, createSigningAccount, createTxOutbox } from '@palaver/protocol';
 * import { createLogger } from '@palaver/service-kit';
 * import { openStore } from '@palaver/store';
 *
 * const store = await openStore('file:./data/herd.sqlite');
 * await store.migrate('herd', [{ name: '0001', up: (db) => createOutboxTables(db, 'herd') }]);
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
  const { store, service, gateway, account, logger, batch = 20, onSettled } = parts;
  const table = createOutboxTable(store, { service, address: account.address, onSettled });

  const report = (what: string, fault: { message: string }) =>
    logger.warn({ reason: fault.message, address: account.address }, what);

  async function settle(rows: OutboxRow[], { code, codespace, raw_log: log, height }: TxResponse): Promise<void> {
    if (code === 0) return table.include(rows, Number(height));
    const fault = toFault(codespace, code, log);
    const [{ message }] = rows as [OutboxRow, ...OutboxRow[]];
    const claim = rows.length === 1 && `${codespace}/${code}` === claimExists && fromSubmitClaim(fromJson(message));
    if (!claim) return release(rows, { fault, counts: true, isUsed: true });
    const found = await readClaim(gateway, claim.claimId, claim);
    // The claim was made by an earlier attempt.
    if (found.ok) return table.include(rows, Number(height));
    if (found.kind !== 'foreign') return report('a claim that is on the chain could not be read', found);
    return release(rows, { fault: `${fault}; ${found.message}`, counts: true, isUsed: true, isFinal: true });
  }

  async function release(rows: OutboxRow[], why: Release): Promise<void> {
    await table.release(rows, why);
    logger.warn({ ids: rows.map(({ id }) => id), reason: why.fault }, 'a transaction had no effect');
  }

  async function broadcast(rows: OutboxRow[], { isFirst }: { isFirst: boolean }): Promise<void> {
    const sent = await broadcastTx(gateway, rows[0]?.bytes ?? '');
    if (!sent.ok) return report('a transaction could not be sent; its bytes are kept', sent);
    // These very bytes may have used up the sequence: the search by hash decides.
    if (sent.code === 0 || sent.code === alreadyInPool || sent.code === wrongSequence) return;
    const fault = toFault(sent.codespace, sent.code, sent.log);
    if (isFirst) return release(rows, { fault, counts: true, isRefused: true });
    // Another node may have accepted them when they were sent before.
    await table.mark(rows[0]?.hash ?? null, { refusal: fault });
    report('a node refused a transaction that was sent before; its bytes are kept', { message: fault });
  }

  async function follow(rows: OutboxRow[]): Promise<void> {
    const [{ hash, sequence, timeout_height: timeout, refusal, signer }] = rows as [OutboxRow, ...OutboxRow[]];
    const found = await readTx(gateway, hash ?? '');
    if (found.ok) return settle(rows, found.response);
    if (found.kind !== 'missing') return report('a transaction could not be looked up', found);
    const latest = await readLatestBlock(gateway);
    if (!latest.ok) return report('the latest block could not be read', latest);
    if (latest.height <= Number(timeout) + indexBlocks) {
      // Recorded before it is sent: a later refusal may not be the only answer to these bytes.
      if (await table.mark(hash, { resent: 1 })) await broadcast(rows, { isFirst: false });
      return;
    }
    const sent = {
      hash: hash ?? '',
      address: signer ?? account.address,
      sequence: Number(sequence),
      height: latest.height,
    };
    const outcome = await readTxOutcome(gateway, sent);
    if (!outcome.ok) return report('whether a transaction was included could not be read', outcome);
    if (outcome.response) return settle(rows, outcome.response);
    if (outcome.isUnclear) return hold(rows, sent);
    return release(rows, { fault: refusal ?? 'in no block until its timeout', counts: refusal !== null });
  }

  /** Entries that may have taken effect are not signed again; the others go on. */
  async function hold(rows: OutboxRow[], { hash, sequence }: { hash: string; sequence: number }): Promise<void> {
    const fault = `sequence ${sequence} is used up, but no node has transaction ${hash}`;
    await table.mark(hash, { status: 'unclear', fault }, unclearMs);
    const advice = 'add a node with a whole transaction index to GATEWAY_UPSTREAMS; the entries wait until it is found';
    logger.error({ ids: rows.map(({ id }) => id), address: account.address, reason: fault }, advice);
  }

  async function signAndSend(rows: OutboxRow[]): Promise<void> {
    const [latest, chainAccount] = await Promise.all([readLatestBlock(gateway), readAccount(gateway, account.address)]);
    if (!latest.ok) return report('the latest block could not be read', latest);
    if (!chainAccount.ok)
      return report('the account that signs could not be read; on a live chain it needs coins', chainAccount);
    // The gateway's answer may be a block old.
    const sequence = Math.max(chainAccount.sequence, (await table.lastSequence()) + 1);
    const timeout_height = latest.height + timeoutBlocks;
    const { bytes, hash } = await account.sign({
      messages: rows.map(({ message }) => fromJson(message)),
      memo: rows.length === 1 ? (rows[0]?.memo ?? '') : '',
      chainId: latest.chainId,
      accountNumber: chainAccount.accountNumber,
      sequence,
      timeoutHeight: timeout_height,
    });
    const signed = { bytes: Buffer.from(bytes).toString('base64'), hash, sequence, timeout_height };
    const ids = rows.map(({ id }) => id);
    await table.keepSigned(ids, signed);
    const sent = { ...signed, signer: account.address, resent: 0, refusal: null, status: 'signed' as const };
    await broadcast(
      rows.map((row) => ({ ...row, ...sent })),
      { isFirst: true },
    );
  }

  async function stepOnce(): Promise<void> {
    const sent = await table.findSent();
    if (sent.length > 0) return follow(sent);
    const waiting = await table.findDue(batch);
    const [first] = waiting;
    if (first) await signAndSend(first.alone ? [first] : waiting.filter(({ alone }) => !alone));
  }

  async function lookUp(hash: string): Promise<OutboxRow[]> {
    const rows = await table.ofHash(hash, 'unclear');
    if (rows.length === 0) return [];
    const found = await readTx(gateway, hash);
    if (!found.ok && found.kind !== 'missing')
      throw new AppError('UNAVAILABLE', `The chain cannot be searched now: ${found.message}`);
    await follow(rows);
    return table.ofIds(rows.map(({ id }) => id));
  }

  return {
    address: account.address,
    add: (trx, { id, message, memo = '' }, now) =>
      table.add(trx, { id, message: toJson(message), memo, alone: memo === '' ? 0 : 1, created_at: now }),
    async step() {
      if (!(await table.lease())) return;
      try {
        await stepOnce();
      } finally {
        await table.endLease();
      }
    },
    list: table.list,
    revive: (trx, id, message) => table.revive(trx, id, message && toJson(message)),
    async findTakenClaim(id) {
      const [row] = await table.ofIds([id]);
      const claim = row?.status === 'dead' ? fromSubmitClaim(fromJson(row.message)) : undefined;
      const found = claim && (await readClaim(gateway, claim.claimId, claim));
      return found && !found.ok && found.kind === 'foreign' ? claim : undefined;
    },
    lookUp,
    async decide(hash, decision) {
      const rows = await lookUp(hash);
      if (rows.length === 0 || rows.some((row) => row.status !== 'unclear')) return rows;
      if (decision === 'included') await table.include(rows, null);
      else await release(rows, { fault: 'an operator has it sent again', counts: false, isUsed: true });
      return table.ofIds(rows.map(({ id }) => id));
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

interface SentTx {
  hash: string;
  address: string;
  sequence: number;
  /** A block after the last one that may include it. */
  height: number;
}

type TxOutcome = { ok: true; response?: TxResponse; isUnclear?: boolean };

// If nodes do not find a transaction after its timeout, the account's sequence and the index show what became of it.
async function readTxOutcome(gateway: GatewayClient, sent: SentTx): Promise<TxOutcome | GatewayFault> {
  const account = await readAccount(gateway, sent.address, sent.height);
  if (!account.ok) return account;
  if (account.sequence <= sent.sequence) return { ok: true };
  const used = await readTxOfSequence(gateway, sent);
  if (!used.ok) return used;
  if (!used.response) return { ok: true, isUnclear: true };
  return used.response.txhash === sent.hash ? { ok: true, response: used.response } : { ok: true };
}
