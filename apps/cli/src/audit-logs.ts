import type { AuditAction } from '@palaver/contract/internal';
import { StartError, withEnvFile } from '@palaver/service-kit';
import { toCsvLines } from '@palaver/service-kit/internal';
import { openStore, type Store } from '@palaver/store';
import {
  type AuditHead,
  type AuditTables,
  auditMigrations,
  createAuditLog,
  loadAnchor,
  readAudit,
  toAnchorPath,
  verifyAudit,
} from '@palaver/store/internal';
import { findDatabases, type ServiceDatabase } from './databases.ts';

/** What `palaver audit verify` prints; false when a fault was found. */
export async function verifyAuditLogs(heads: AuditHead[]): Promise<boolean> {
  const { databases, dataDir } = findAuditLogs();
  let isSound = true;
  for (const database of databases) {
    const kept = database.services.map((service) => loadAnchor(toAnchorPath(dataDir, service)));
    const anchors = [...heads, ...kept.filter((anchor) => anchor !== undefined)];
    const { lines, head, faults } = await withAudit(database, (store) => verifyAudit(store, anchors));
    const name = database.services.join(' and ');
    for (const { seq, fault } of faults) process.stdout.write(`${name}: line ${seq}: ${fault}\n`);
    const checked = `${lines} lines checked, against ${anchors.length} heads kept elsewhere`;
    const verdict = faults.length === 0 ? 'no faults' : `${faults.length} faults`;
    process.stdout.write(`${name}: ${checked}; ${verdict}; head ${head.seq}:${head.hash}\n`);
    isSound &&= faults.length === 0;
  }
  return isSound;
}

/** What `palaver audit export` prints. */
export async function exportAuditLogs(format: 'json' | 'csv'): Promise<void> {
  for (const database of findAuditLogs().databases) {
    await withAudit(database, async (store) => {
      for await (const lines of readAudit(store)) {
        if (format === 'json') process.stdout.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
        else
          process.stdout.write(
            toCsvLines(lines.map(({ details, ...line }) => toCells({ ...line, details: JSON.stringify(details) }))),
          );
      }
    });
  }
}

function findAuditLogs() {
  const found = findDatabases(withEnvFile(process.env));
  if (found.databases.length > 0) return found;
  throw new StartError(
    `There is no database in ${found.dataDir}; set DATA_DIR or DATABASE_URL as the services have it.`,
  );
}

/** Records what a command did in the log of every service that has a database here. */
export async function recordCommand(action: AuditAction, details: Record<string, string>): Promise<void> {
  const { databases } = findDatabases(withEnvFile(process.env));
  for (const database of databases) {
    await withAudit(database, async (store) => {
      for (const service of database.services) {
        // The key is for references to persons; the line has none.
        const audit = createAuditLog(store, { service, referenceKey: new Uint8Array(32) });
        await audit.record({ actor: 'command', action, details });
        await audit.close();
      }
    });
  }
}

async function withAudit<T>({ url }: ServiceDatabase, use: (store: Store<AuditTables>) => Promise<T>): Promise<T> {
  const store = await openStore<AuditTables>(url);
  try {
    await store.migrate('audit', auditMigrations);
    return await use(store);
  } finally {
    await store.close();
  }
}

function toCells(line: Record<string, string | number | null>): string[] {
  return Object.values(line).map((value) => String(value ?? ''));
}
