import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Kysely } from 'kysely';
import { readPieces } from '../read-pieces.ts';
import type { Store } from '../store.ts';
import { type AuditHead, type AuditTables, type ChainedRow, chainPending, hashLine } from './audit-chain.ts';
import type { AuditLogOptions } from './audit-log.ts';

interface AuditFault {
  seq: number;
  fault: string;
}

const maxFaults = 20;

// Lists lines changed outside the audit log; `anchors`, heads kept elsewhere, reveal an end cut off or rewritten.
export async function verifyAudit(
  store: Pick<Store<AuditTables>, 'transaction' | 'engine' | 'db'>,
  anchors: readonly AuditHead[] = [],
): Promise<{ lines: number; head: AuditHead; faults: AuditFault[] }> {
  await chainPending(store);
  const { db } = store;
  const floor = await loadState(db);
  const faults: AuditFault[] = [];
  const report = (seq: number, fault: string) => {
    if (faults.length < maxFaults) faults.push({ seq, fault });
  };
  const wanted = new Map(anchors.map((anchor) => [anchor.seq, anchor.hash]));
  let last: AuditHead = { seq: floor.floor_seq, hash: floor.floor_hash };
  let lines = 0;
  let isFloorRecorded = floor.floor_seq === 0;
  let state = floor;

  const check = (row: ChainedRow) => {
    lines++;
    if (row.seq !== last.seq + 1) report(row.seq, `${row.seq - last.seq - 1} lines before it are missing`);
    else if (row.previous !== last.hash) report(row.seq, 'it does not follow the line before it');
    if (row.hash !== hashLine(row)) report(row.seq, 'it was changed');
    const anchor = wanted.get(row.seq);
    if (anchor !== undefined && anchor !== row.hash)
      report(row.seq, 'it differs from the head that was kept elsewhere');
    isFloorRecorded ||= isPruneLine(row, floor.floor_seq, floor.floor_hash);
    last = { seq: row.seq, hash: row.hash };
  };

  const checkRest = async () => {
    const before = lines;
    const rest = readPieces<ChainedRow>((_, limit) =>
      db.selectFrom('palaver_audit').selectAll().where('seq', '>', last.seq).orderBy('seq').limit(limit).execute(),
    );
    for await (const rows of rest) for (const row of rows) check(row);
    return lines > before;
  };
  await checkRest();
  // Lines are added together with the new head: those missing after it was read were removed.
  do state = await loadState(db);
  while (state.head_seq > last.seq && (await checkRest()));
  if (state.floor_seq !== floor.floor_seq) return verifyAudit(store, anchors); // pruned meanwhile
  if (state.head_seq !== last.seq || state.head_hash !== last.hash)
    report(last.seq, `the chain ends here, but its head is recorded at ${state.head_seq}`);
  for (const { seq } of anchors)
    if (seq > last.seq) report(last.seq, `the chain ends here, but its head was at ${seq}`);
  if (!isFloorRecorded) report(floor.floor_seq + 1, 'lines before it are missing and no line records their removal');
  return { lines, head: last, faults };
}

function isPruneLine({ action, details }: ChainedRow, seq: number, hash: string): boolean {
  if (action !== 'audit.pruned') return false;
  const removed = JSON.parse(details) as Partial<AuditHead>;
  return removed.seq === seq && removed.hash === hash;
}

function loadState(db: Kysely<AuditTables>) {
  return db.selectFrom('palaver_audit_state').selectAll().executeTakeFirstOrThrow();
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

const logEveryMs = 10 * 60_000;

export function toAnchorPath(dataDir: string, service: string): string {
  return join(dataDir, `audit-head-${service}.json`);
}

/** Keeps the head outside the database: in a file, and every ten minutes in the log. */
export function keepAuditHead(path: string, logger: Log): Pick<AuditLogOptions, 'onHead' | 'onFault'> {
  let loggedAt = Number.NEGATIVE_INFINITY;
  let hasWarned = false;
  return {
    onHead(head) {
      if (Date.now() - loggedAt >= logEveryMs) {
        loggedAt = Date.now();
        logger.info({ auditHead: head }, 'audit head');
      }
      try {
        writeAnchor(path, head);
      } catch (error) {
        if (!hasWarned) logger.warn({ err: error, path }, 'the head of the audit log cannot be kept in a file');
        hasWarned = true;
      }
    },
    onFault: (error) => logger.warn({ err: error }, 'audit lines are written but not chained yet'),
  };
}

export function loadAnchor(path: string): AuditHead | undefined {
  try {
    const { seq, hash } = JSON.parse(readFileSync(path, 'utf8')) as Partial<AuditHead>;
    return typeof seq === 'number' && typeof hash === 'string' ? { seq, hash } : undefined;
  } catch {
    return undefined;
  }
}

/** The head only moves forward: a chain that was cut must not bring it back. */
function writeAnchor(path: string, head: AuditHead): void {
  if ((loadAnchor(path)?.seq ?? 0) >= head.seq) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const aside = `${path}.${process.pid}`;
  writeFileSync(aside, `${JSON.stringify(head)}\n`, { mode: 0o600 });
  renameSync(aside, path);
}
