import { createHmac, randomUUID } from 'node:crypto';
import type { AuditAction, AuditLine, AuditQuery } from '@palaver/contract/internal';
import type { Kysely, Transaction } from 'kysely';
import { readPieces } from '../read-pieces.ts';
import type { Store } from '../store.ts';
import { type AuditHead, type AuditTables, type ChainedRow, chainPending, pruneAudit } from './audit-chain.ts';

/** Who acted: an operator by name, a person by reference, the service itself, or someone at the `palaver` command. */
export type AuditActor = `operator:${string}` | `person:${string}` | 'service' | 'command';

/** A line of the audit log. */
export interface AuditEvent {
  actor: AuditActor;
  action: AuditAction;
  /** Whom or what it is about: a `person:` reference, an id, a path. Never a secret, a name or a phone number. */
  subject?: string | null | undefined;
  /** The client address, or the door it came through. */
  from?: string | null | undefined;
  /** Facts in a few words. Never secrets and nothing that a person wrote. */
  details?: Record<string, string | number | boolean | null> | undefined;
}

/** Records what an auditor asks about, in a chain of hashes. */
export interface AuditLog<DB> {
  /** One insert. With `trx` the line is committed with the event that it records, or not at all. */
  record(event: AuditEvent, trx?: Transaction<DB>): Promise<void>;
  /** The reference that stands for a phone number or a DID: a keyed hash, so that the log names nobody. */
  person(identifier: string): `person:${string}`;
  /** A page of lines, newest first. */
  list(query: AuditFilter & { limit: number }): Promise<{ lines: AuditLine[]; nextCursor: string | null }>;
  /** Every line that matches, oldest first, in pieces. */
  listAll(filter: AuditFilter): AsyncGenerator<AuditLine[]>;
  /** Removes lines older than this and records that it did; returns how many. */
  prune(before: number): Promise<number>;
  /** Moves what is pending into the chain and stops. */
  close(): Promise<void>;
}

export type AuditFilter = Partial<Pick<AuditQuery, 'before' | 'action' | 'actor' | 'subject' | 'since' | 'until'>>;

export interface AuditLogOptions {
  service: string;
  /** 32 bytes of this service; references to persons are made with it. */
  referenceKey: Uint8Array;
  /** Lines older than this are removed, looked for soon after the start and every hour; 0 or nothing keeps them. */
  retentionDays?: number;
  /** Called with the end of the chain after it grew, to be kept outside the database. */
  onHead?(head: AuditHead): void;
  /** Called when pending lines could not be chained; they stay pending. */
  onFault?(error: unknown): void;
}

const chainDelayMs = 250;
/** Services that are restarted often must prune too. */
const firstPruneMs = 5_000;
const pruneEveryMs = 3_600_000;
const dayMs = 24 * 3_600_000;
const maxText = 200;
const maxDetails = 2_000;

export function createAuditLog<DB>(
  store: Pick<Store<DB>, 'db' | 'readDb' | 'transaction' | 'engine'>,
  { service, referenceKey, retentionDays = 0, onHead, onFault }: AuditLogOptions,
): AuditLog<DB> {
  const tables = store as unknown as Pick<Store<AuditTables>, 'db' | 'readDb' | 'transaction' | 'engine'>;
  let timer: NodeJS.Timeout | undefined;
  let chaining: Promise<unknown> = Promise.resolve();

  const chain = () => {
    clearTimeout(timer);
    timer = undefined;
    const step = chaining.then(() => chainPending(tables)).then((head) => head && onHead?.(head));
    chaining = step.catch((error) => onFault?.(error));
    return step;
  };
  const chainSoon = () => {
    timer ??= setTimeout(() => void chain().catch(() => {}), chainDelayMs).unref();
  };

  const prune = async (before: number) => {
    await chain();
    const removed = await pruneAudit(tables, before, (details) =>
      toRow({ actor: 'service', action: 'audit.pruned', details }, service),
    );
    if (removed > 0) await chain();
    return removed;
  };
  let pruning: Promise<unknown> | undefined;
  const keepShort = () => {
    pruning ??= prune(Date.now() - retentionDays * dayMs)
      .catch((error) => onFault?.(error))
      .finally(() => {
        pruning = undefined;
      });
  };
  const pruners =
    retentionDays > 0
      ? [setTimeout(keepShort, firstPruneMs).unref(), setInterval(keepShort, pruneEveryMs).unref()]
      : [];

  return {
    async record(event, trx) {
      const db = (trx as unknown as Kysely<AuditTables> | undefined) ?? tables.db;
      await db.insertInto('palaver_audit_pending').values(toRow(event, service)).execute();
      chainSoon();
    },
    person(identifier) {
      const hash = createHmac('sha256', referenceKey).update('audit person').update(identifier).digest('hex');
      return `person:${hash.slice(0, 32)}`;
    },
    async list({ limit, ...filter }) {
      await chain();
      const rows = await select(tables.readDb, service, filter)
        .orderBy('seq', 'desc')
        .limit(limit + 1)
        .execute();
      const lines = rows.slice(0, limit).map(toLine);
      return { lines, nextCursor: rows.length > limit ? String(lines.at(-1)?.seq) : null };
    },
    async *listAll(filter) {
      await chain();
      yield* readLines(select(tables.readDb, service, filter));
    },
    prune,
    async close() {
      for (const pruner of pruners) clearInterval(pruner);
      await pruning;
      if (timer) await chain().catch(() => {});
      await chaining;
    },
  };
}

export async function* readAudit(store: Pick<Store<AuditTables>, 'transaction' | 'engine' | 'db'>) {
  await chainPending(store);
  yield* readLines(store.db.selectFrom('palaver_audit').selectAll());
}

async function* readLines(query: ReturnType<typeof select>): AsyncGenerator<AuditLine[]> {
  const load = (after: ChainedRow | undefined, limit: number) =>
    (after ? query.where('seq', '>', after.seq) : query).orderBy('seq').limit(limit).execute();
  for await (const rows of readPieces(load)) yield rows.map(toLine);
}

function toRow(event: AuditEvent, service: string): AuditTables['palaver_audit_pending'] {
  const details = JSON.stringify(event.details ?? {}, (_, value) =>
    typeof value === 'string' ? toText(value) : value,
  );
  if (details.length > maxDetails) throw new RangeError(`the details of an audit line exceed ${maxDetails} characters`);
  return {
    id: randomUUID(),
    at: Date.now(),
    service,
    actor: toText(event.actor),
    action: event.action,
    subject: event.subject == null ? null : toText(event.subject),
    from_address: event.from == null ? null : toText(event.from),
    details,
  };
}

/** In the form that both engines store, so that what is read back has the hash of what was written. */
function toText(text: string): string {
  return text.slice(0, maxText).toWellFormed().replaceAll('\0', '\ufffd');
}

function select(db: Kysely<AuditTables>, service: string, filter: AuditFilter) {
  let query = db.selectFrom('palaver_audit').selectAll().where('service', '=', service);
  if (filter.before !== undefined) query = query.where('seq', '<', Number(filter.before));
  if (filter.action !== undefined) query = query.where('action', '=', filter.action);
  if (filter.actor !== undefined) query = query.where('actor', '=', filter.actor);
  if (filter.subject !== undefined) query = query.where('subject', '=', filter.subject);
  if (filter.since !== undefined) query = query.where('at', '>=', Date.parse(filter.since));
  if (filter.until !== undefined) query = query.where('at', '<', Date.parse(filter.until));
  return query;
}

function toLine({ at, from_address, details, action, ...row }: ChainedRow): AuditLine {
  return {
    ...row,
    at: new Date(at).toISOString(),
    from: from_address,
    action: action as AuditAction,
    details: JSON.parse(details) as AuditLine['details'],
  };
}
