import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { AuditHead } from './audit-chain.ts';
import type { AuditLogOptions } from './audit-log.ts';

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

const logEveryMs = 10 * 60_000;

/** The file in the data folder that keeps the head of a service's audit log. */
export function toAnchorPath(dataDir: string, service: string): string {
  return join(dataDir, `audit-head-${service}.json`);
}

/** Keeps the head of the chain outside the database: in a file, and every ten minutes in the log. */
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

/** The head kept in a file; `undefined` when there is none. */
export function loadAnchor(path: string): AuditHead | undefined {
  try {
    const { seq, hash } = JSON.parse(readFileSync(path, 'utf8')) as Partial<AuditHead>;
    return typeof seq === 'number' && typeof hash === 'string' ? { seq, hash } : undefined;
  } catch {
    return undefined;
  }
}

/** It only ever moves forward: a chain that was cut must not bring it back. */
function writeAnchor(path: string, head: AuditHead): void {
  if ((loadAnchor(path)?.seq ?? 0) >= head.seq) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const aside = `${path}.${process.pid}`;
  writeFileSync(aside, `${JSON.stringify(head)}\n`, { mode: 0o600 });
  renameSync(aside, path);
}
