import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@palaver/service-kit';
import type { DatabaseClock, Store } from '@palaver/store';
import { sealedTables } from '../store/sealed-tables.ts';
import type { SubmissionTable, UssdTables } from '../store/tables.ts';
import type { OpenRosaClient } from './openrosa-client.ts';

export interface SenderParts {
  store: Pick<Store<UssdTables>, 'db' | 'cipher'>;
  client: Pick<OpenRosaClient, 'send'>;
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
const batch = 20;
const stopMs = 3_000;

/**
 * Sends queued submissions until the server has them. One whose answer was lost is sent again: the server knows it by its
 * instance id, and keeps it once.
 */
export function startSender({ intervalMs = 2_000, ...parts }: SenderParts): Sender {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= sendDue(parts, stopping.signal)
      .catch((error: unknown) => parts.logger.warn({ err: error }, 'submissions cannot be sent now'))
      .finally(() => {
        running = undefined;
      });
  }, intervalMs).unref();
  return {
    async stop() {
      clearInterval(timer);
      stopping.abort();
      // A server that does not answer does not hold up the end: what is under way is sent again after its lease.
      await Promise.race([running, sleep(stopMs, undefined, { ref: false })]);
    },
  };
}

async function sendDue(parts: Omit<SenderParts, 'intervalMs'>, signal: AbortSignal): Promise<void> {
  const { store, clock } = parts;
  while (!signal.aborted) {
    const due = await store.db
      .selectFrom('ussd_submission')
      .selectAll()
      .where('status', '=', 'queued')
      .where('next_at', '<=', clock.now())
      .orderBy('next_at')
      .limit(batch)
      .execute();
    for (const row of due) {
      if (signal.aborted) return;
      await sendOne(parts, row);
    }
    if (due.length < batch) return;
  }
}

async function sendOne({ store, client, clock, logger }: SenderParts, row: SubmissionTable): Promise<void> {
  const change = (set: Partial<SubmissionTable>, at: number | null) =>
    store.db
      .updateTable('ussd_submission')
      .set(set)
      .where('id', '=', row.id)
      .where('status', '=', 'queued')
      .where('next_at', '=', at)
      .executeTakeFirst();
  const lease = clock.now() + leaseMs;
  const attempts = row.attempts + 1;
  const taken = await change({ next_at: lease, attempts }, row.next_at);
  if (taken.numUpdatedRows === 0n) return;
  const sent = await client.send(row.id, store.cipher.openRow(sealedTables.submission, row).xml);
  if (sent.ok) {
    await change({ status: 'sent', next_at: null, fault: null }, lease);
    return;
  }
  const isOver = sent.refused || attempts >= maxAttempts;
  const wait = Math.min(maxWaitMs, firstWaitMs * 2 ** Math.min(row.attempts, 12));
  await change(
    {
      fault: sent.fault.slice(0, 200),
      ...(isOver ? { status: 'failed', next_at: null } : { next_at: clock.now() + wait }),
    },
    lease,
  );
  logger.warn(
    { instanceId: row.id, attempts, fault: sent.fault, isOver },
    'a submission was not taken by the forms server',
  );
}
