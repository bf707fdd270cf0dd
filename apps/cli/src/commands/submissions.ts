import { withEnvFile } from '@palaver/service-kit';
import type { ExportFormat, SubmissionQuery } from '@palaver/ussd/commands/submissions';
import { type Command, Option } from 'commander';
import { toCount } from '../options.ts';
import { printTable } from '../table.ts';

const statuses = ['stored', 'queued', 'sent', 'failed'];
const load = () => import('@palaver/ussd/commands/submissions');

export function addSubmissionCommands(program: Command): void {
  const submissions = program.command('submissions').description('list, export and retry completed ODK forms');
  withFilter(submissions.command('list').description('print the number of submissions of each form, and the newest'))
    .option('--limit <number>', 'how many of the newest', toCount, 20)
    .action(async ({ form, status, limit }: FilterOptions & { limit: number }) => {
      const { listSubmissions } = await load();
      const found = await listSubmissions(withEnvFile(process.env), { formId: form, status, limit });
      const counts = found.forms.map(({ formId, status: kept, count }) => [formId, kept, String(count)]);
      const rows = found.submissions.map((each) => {
        return [each.instanceId, each.formId, each.createdAt, each.status, each.fault ?? ''];
      });
      if (counts.length === 0) return void process.stdout.write('There are no submissions.\n');
      printTable(['Form', 'Status', 'Count'], counts);
      process.stdout.write('\n');
      printTable(['Instance', 'Form', 'Completed', 'Status', 'Fault'], rows);
    });
  withFilter(submissions.command('export').description('print all submissions'))
    .addOption(
      new Option('--format <format>', 'csv, json (one object a line) or xml')
        .choices(['csv', 'json', 'xml'])
        .default('csv'),
    )
    .action(async ({ form, status, format }: FilterOptions & { format: ExportFormat }) => {
      const { exportSubmissions } = await load();
      await exportSubmissions(withEnvFile(process.env), { formId: form, status, format }, (piece) =>
        process.stdout.write(piece),
      );
    });
  submissions
    .command('retry')
    .description('send submissions again that the forms server refused')
    .argument('[instance]', 'id of one submission (default: all that failed)')
    .action(async (instance?: string) => {
      const count = await (await load()).retrySubmissions(withEnvFile(process.env), instance);
      process.stdout.write(`${count} queued.\n`);
    });
}

interface FilterOptions {
  form?: string;
  status?: SubmissionQuery['status'];
}

function withFilter(command: Command): Command {
  return command
    .option('--form <id>', 'only of this form')
    .addOption(new Option('--status <status>', 'only with this status').choices(statuses));
}
