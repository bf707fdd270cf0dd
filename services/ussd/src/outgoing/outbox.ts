import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import { changePieces, createLeases } from '@palaver/store/internal';
import type { Kysely } from 'kysely';
import type { Clock, OutboxColumns, UssdStore, UssdTables } from '../store/tables.ts';

export type Delivery<Row = OutboxColumns> =
  | { ok: true; set?: Partial<Row> }
  /** `isFinal`: another attempt would not help, or might send it twice. */
  | { ok: false; fault: string; isFinal: boolean };

type OutboxTable = 'ussd_submission' | 'ussd_sms';

export interface OutboxParts<Table extends OutboxTable> {
  store: UssdStore;
  table: Table;
  /** The status while an instance sends it. After its lease it means that the instance has died. */
  claimedStatus: 'queued' | 'sending';
  send(row: UssdTables[Table]): Promise<Delivery<UssdTables[Table]>>;
  onDone?(result: 'sent' | 'retried' | 'failed'): void;
  clock: Clock;
  logger: Logger;
  intervalMs?: number;
}

export const unsent = { attempts: 0, fault: null, claimed_by: null, lease_until: 0 } as const;
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

/** All failed entries, or those with these columns. Returns their number. */
export async function retryFailed(
  db: Kysely<UssdTables>,
  table: OutboxTable,
  { now, only }: { now: number; only: Record<string, string | undefined> },
): Promise<number> {
  let query = db
    .updateTable(table as 'ussd_sms')
    .set({ status: 'queued', attempts: 0, next_at: now })
    .where('status', '=', 'failed');
  for (const [column, value] of Object.entries(only))
    if (value !== undefined) query = query.where(column as 'id', '=', value);
  return Number((await query.executeTakeFirst()).numUpdatedRows);
}

/** Returns the value of the last load and starts the next: metrics do not wait for an unreachable database. */
export function createLastKnown<T>(initial: T, load: () => Promise<T>): () => T {
  let known = initial;
  let isLoading = false;
  const keep = async () => {
    isLoading = true;
    known = await load().catch(() => known);
    isLoading = false;
  };
  return () => {
    if (!isLoading) void keep();
    return known;
  };
}

export function startOutbox<Table extends OutboxTable>({ intervalMs = 2_000, ...parts }: OutboxParts<Table>) {
  const stopping = new AbortController();
  const sending = runEvery({
    everyMs: intervalMs,
    work: () => sendDue(parts, stopping.signal),
    onFault: (error) => parts.logger.warn({ err: error, table: parts.table }, 'the outbox cannot be sent now'),
  });
  return {
    /** Something has been queued that somebody waits for. */
    soon: sending.soon,
    async stop() {
      stopping.abort();
      // A server that does not answer does not delay the shutdown: what is being sent is sent again after its lease.
      await Promise.race([sending.stop(), sleep(stopMs, undefined, { ref: false })]);
    },
  };
}

type Parts<Table extends OutboxTable> = Omit<OutboxParts<Table>, 'intervalMs'>;

async function sendDue<Table extends OutboxTable>(parts: Parts<Table>, signal: AbortSignal): Promise<void> {
  const sendSome = async (limit: number) => {
    const due = await parts.store.db
      .selectFrom(parts.table as 'ussd_sms')
      .selectAll()
      .where('status', 'in', ['queued', parts.claimedStatus])
      .where('next_at', '<=', parts.clock.now())
      .where('lease_until', '<=', parts.clock.now())
      .orderBy('next_at')
      .limit(limit)
      .execute();
    await Promise.all(due.map((row) => sendOne(parts, row as UssdTables[Table], signal)));
    return signal.aborted ? 0 : due.length;
  };
  if (!signal.aborted) await changePieces(sendSome, { size: batch });
}

async function sendOne<Table extends OutboxTable>(
  { store, table, claimedStatus, send, onDone, clock, logger }: Parts<Table>,
  row: UssdTables[Table],
  signal: AbortSignal,
): Promise<void> {
  const leases = createLeases<OutboxColumns>(store, table);
  const holder = randomUUID();
  const attempts = row.attempts + 1;
  const from = { status: row.status, attempts: row.attempts };
  const take = () => leases.take(row.id, holder, { ms: leaseMs, from, set: { status: claimedStatus, attempts } });
  const end = (set: Partial<OutboxColumns>) => repeat(() => leases.end(row.id, holder, { set }), signal);
  const isTaken = await repeat(take, signal);
  if (!isTaken) return;
  const delivery = await send(row).catch(toFault);
  if (delivery.ok) {
    await end({ status: 'sent', next_at: null, fault: null, ...delivery.set });
    onDone?.('sent');
    return;
  }
  const isOver = delivery.isFinal || attempts >= maxAttempts;
  const wait = Math.min(maxWaitMs, firstWaitMs * 2 ** Math.min(row.attempts, 12));
  const fault = delivery.fault.slice(0, 200);
  const rest = isOver ? { status: 'failed', next_at: null } : { status: 'queued', next_at: clock.now() + wait };
  await end({ fault, ...rest });
  onDone?.(isOver ? 'failed' : 'retried');
  logger.warn({ table, id: row.id, attempts, fault, isOver }, 'an entry of the outbox was not delivered');
}

/** The database may be unreachable for a moment, and the reply to a write be lost: what was sent must not be forgotten. */
async function repeat<T>(write: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const endsAt = performance.now() + writeMs;
  for (let pauseMs = 100; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
    try {
      return await write();
    } catch (error) {
      if (signal.aborted || performance.now() + pauseMs > endsAt) throw error;
    }
    await sleep(pauseMs, undefined, { ref: false });
  }
}

const toFault = (error: unknown): Delivery => ({ ok: false, fault: String(error), isFinal: false });
