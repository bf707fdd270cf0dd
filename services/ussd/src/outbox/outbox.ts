import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import type { DatabaseClock, Store } from '@palaver/store';
import { changePieces } from '@palaver/store/internal';
import type { UssdTables } from '../store/tables.ts';

/** What every table of things to send has. */
export interface OutboxColumns {
  id: string;
  status: string;
  attempts: number;
  /** When it is sent next; while it is being sent, when its lease ends. */
  next_at: number | null;
  /** Why the last attempt failed. */
  fault: string | null;
}

export type Delivery =
  | { ok: true }
  /** `isFinal`: another attempt would not help, or might send it twice. */
  | { ok: false; fault: string; isFinal: boolean };

export interface OutboxParts<Table extends 'ussd_submission' | 'ussd_sms'> {
  store: Pick<Store<UssdTables>, 'db'>;
  table: Table;
  /** The status while an instance sends it: one that is found in it after its lease was left by an instance that died. */
  claimedStatus: 'queued' | 'sending';
  send(row: UssdTables[Table]): Promise<Delivery>;
  onDone?(result: 'sent' | 'retried' | 'failed'): void;
  clock: Pick<DatabaseClock, 'now'>;
  logger: Logger;
  intervalMs?: number;
}

export interface Sender {
  stop(): Promise<void>;
}

/** Longer than a request may take: until then no other instance sends the same. */
const leaseMs = 60_000;
const firstWaitMs = 5_000;
const maxWaitMs = 3_600_000;
/** About two days. */
const maxAttempts = 50;
/** Sent side by side. */
const batch = 10;
const stopMs = 3_000;
/** How long a write is repeated while the database is unreachable: two of them and a request between fit into a lease. */
const writeMs = 15_000;
const maxPauseMs = 2_000;

/** Sends what is queued in a table, one instance at a time for each row, until it is sent or has finally failed. */
export function startOutbox<Table extends 'ussd_submission' | 'ussd_sms'>({
  intervalMs = 2_000,
  ...parts
}: OutboxParts<Table>): Sender {
  const stopping = new AbortController();
  const sending = runEvery({
    everyMs: intervalMs,
    work: () => sendDue(parts, stopping.signal),
    onFault: (error) => parts.logger.warn({ err: error, table: parts.table }, 'the outbox cannot be sent now'),
  });
  return {
    async stop() {
      stopping.abort();
      // A server that does not answer does not delay the shutdown: what is being sent is sent again after its lease.
      await Promise.race([sending.stop(), sleep(stopMs, undefined, { ref: false })]);
    },
  };
}

type Parts<Table extends 'ussd_submission' | 'ussd_sms'> = Omit<OutboxParts<Table>, 'intervalMs'>;

async function sendDue<Table extends 'ussd_submission' | 'ussd_sms'>(
  parts: Parts<Table>,
  signal: AbortSignal,
): Promise<void> {
  const sendSome = async (limit: number) => {
    const due = await parts.store.db
      .selectFrom(parts.table as 'ussd_sms')
      .selectAll()
      .where('status', 'in', ['queued', parts.claimedStatus])
      .where('next_at', '<=', parts.clock.now())
      .orderBy('next_at')
      .limit(limit)
      .execute();
    await Promise.all(due.map((row) => sendOne(parts, row as UssdTables[Table], signal)));
    return signal.aborted ? 0 : due.length;
  };
  if (!signal.aborted) await changePieces(sendSome, { size: batch });
}

async function sendOne<Table extends 'ussd_submission' | 'ussd_sms'>(
  { store, table, claimedStatus, send, onDone, clock, logger }: Parts<Table>,
  row: UssdTables[Table],
  signal: AbortSignal,
): Promise<void> {
  const tryChange = async (set: Partial<OutboxColumns>, from: Pick<OutboxColumns, 'status' | 'next_at'>) => {
    const { numUpdatedRows } = await store.db
      .updateTable(table as 'ussd_sms')
      .set(set as Partial<UssdTables['ussd_sms']>)
      .where('id', '=', row.id)
      .where('status', '=', from.status as 'queued')
      .where('next_at', '=', from.next_at)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  };
  const change = (...args: Parameters<typeof tryChange>) => repeat(() => tryChange(...args), signal);
  // By chance, so that no other instance has the same and a claim whose reply was lost is known as this one.
  const claimed = { status: claimedStatus, next_at: clock.now() + leaseMs + randomInt(10_000) };
  const attempts = row.attempts + 1;
  const isTaken = await repeat(async (isRepeated) => {
    const set = { ...claimed, attempts };
    return (isRepeated && (await tryChange(set, claimed))) || (await tryChange(set, row));
  }, signal);
  if (!isTaken) return;
  const delivery = await send(row).catch(toFault);
  if (delivery.ok) {
    await change({ status: 'sent', next_at: null, fault: null }, claimed);
    onDone?.('sent');
    return;
  }
  const isOver = delivery.isFinal || attempts >= maxAttempts;
  const wait = Math.min(maxWaitMs, firstWaitMs * 2 ** Math.min(row.attempts, 12));
  const fault = delivery.fault.slice(0, 200);
  const rest = isOver ? { status: 'failed', next_at: null } : { status: 'queued', next_at: clock.now() + wait };
  await change({ fault, ...rest }, claimed);
  onDone?.(isOver ? 'failed' : 'retried');
  logger.warn({ table, id: row.id, attempts, fault, isOver }, 'an entry of the outbox was not delivered');
}

/** The database may be unreachable for a moment, and the reply to a write be lost: what was sent must not be forgotten. */
async function repeat<T>(write: (isRepeated: boolean) => Promise<T>, signal: AbortSignal): Promise<T> {
  const endsAt = performance.now() + writeMs;
  for (let pauseMs = 100, isRepeated = false; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs), isRepeated = true) {
    try {
      return await write(isRepeated);
    } catch (error) {
      if (signal.aborted || performance.now() + pauseMs > endsAt) throw error;
    }
    await sleep(pauseMs, undefined, { ref: false });
  }
}

const toFault = (error: unknown): Delivery => ({ ok: false, fault: String(error), isFinal: false });
