import { type Command, InvalidArgumentError } from 'commander';

interface Head {
  seq: number;
  hash: string;
}

/** `palaver audit verify` and `palaver audit export`. */
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
    .action(async ({ head }: { head: Head[] }) => {
      const { verifyAuditLogs } = await import('../audit-logs.ts');
      if (!(await verifyAuditLogs(head))) process.exitCode = 1;
    });
  audit
    .command('export')
    .description('print the whole audit log, oldest line first, one JSON object a line')
    .option('--csv', 'print CSV instead')
    .action(async ({ csv }: { csv?: boolean }) => {
      const { exportAuditLogs } = await import('../audit-logs.ts');
      await exportAuditLogs(csv ? 'csv' : 'json');
    });
}

function collectHead(text: string, previous: Head[]): Head[] {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined || hash === undefined) throw new InvalidArgumentError('expected a number, a colon and a hash');
  return [...previous, { seq: Number(seq), hash }];
}
