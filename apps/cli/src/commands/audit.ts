import type { AuditAction, AuditLine } from '@palaver/contract/internal';
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
import { type Command, InvalidArgumentError } from 'commander';
import { findDatabases, type ServiceDatabase } from '../databases.ts';

export function addAuditCommands(program: Command): void {
  const audit = program.command('audit').description('check or export the audit log of the services');
  audit
    .command('verify')
    .description('find audit lines that were changed, removed or added; exit with status 1 if there are any')
    .option(
      '--head <seq:hash>',
      'a head that was saved elsewhere, such as one from the log; repeatable',
      collectHead,
      [],
    )
    .action(async ({ head }: { head: AuditHead[] }) => {
      if (!(await verifyAuditLogs(head))) process.exitCode = 1;
    });
  audit
    .command('export')
    .description('print the whole audit log, oldest line first, one JSON object a line')
    .option('--csv', 'print CSV instead')
    .action(({ csv }: { csv?: boolean }) => exportAuditLogs(csv ? 'csv' : 'json'));
}

function collectHead(text: string, previous: AuditHead[]): AuditHead[] {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined || hash === undefined) throw new InvalidArgumentError('expected a number, a colon and a hash');
  return [...previous, { seq: Number(seq), hash }];
}

async function verifyAuditLogs(heads: AuditHead[]): Promise<boolean> {
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

async function exportAuditLogs(format: 'json' | 'csv'): Promise<void> {
  for (const database of findAuditLogs().databases) {
    await withAudit(database, async (store) => {
      for await (const lines of readAudit(store)) {
        if (format === 'json') process.stdout.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
        else process.stdout.write(toCsvLines(lines.map(toCells)));
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

export async function recordCommand(action: AuditAction, details: Record<string, string>): Promise<void> {
  const { databases } = findDatabases(withEnvFile(process.env));
  for (const database of databases) {
    await withAudit(database, async (store) => {
      for (const service of database.services) {
        // The key hides references to persons, of which this line has none.
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

function toCells({ details, ...line }: AuditLine): string[] {
  return Object.values({ ...line, details: JSON.stringify(details) }).map((value) => String(value ?? ''));
}
