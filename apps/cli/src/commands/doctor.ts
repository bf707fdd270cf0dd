import { withEnvFile } from '@palaver/service-kit';
import type { Command } from 'commander';
import type { Finding } from '../doctor/examine.ts';
import { printJson } from '../table.ts';

const marks: Record<Finding['state'], string> = { ok: '✓', off: '·', fault: '✗' };

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('check the configuration and the connections; exit with status 1 if a check fails')
    .option('--json', 'print the findings as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const { examine } = await import('../doctor/examine.ts');
      const findings: Finding[] = [];
      for await (const finding of examine(withEnvFile(process.env))) {
        findings.push(finding);
        if (!json) process.stdout.write(toLine(finding));
      }
      if (json) printJson(findings);
      if (findings.some(({ state }) => state === 'fault')) process.exitCode = 1;
    });
}

function toLine({ state, what, found, remedy }: Finding): string {
  return `${marks[state]} ${what.padEnd(18)} ${found}${remedy ? `\n  ${' '.repeat(18)} → ${remedy}` : ''}\n`;
}
