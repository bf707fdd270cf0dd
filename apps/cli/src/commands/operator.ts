import { withEnvFile } from '@palaver/service-kit';
import {
  addOperator,
  loadOperators,
  type OperatorRole,
  operatorRoles,
  revokeOperator,
  toOperatorsFile,
} from '@palaver/service-kit/internal';
import { type Command, Option } from 'commander';
import { printTable } from '../table.ts';
import { recordCommand } from './audit.ts';

export function addOperatorCommands(program: Command): void {
  const operator = program.command('operator').description('add, list or revoke named operators');
  operator
    .command('add')
    .argument('<name>')
    .description('add an operator and print the token, which is shown only once')
    .addOption(new Option('--role <role>', 'what the operator may do').choices(operatorRoles).default('viewer'))
    .action(async (name: string, { role }: { role: OperatorRole }) => {
      const token = addOperator(toFile(), { name, role });
      await recordCommand('operator.added', { name, role });
      process.stderr.write(`${name} may use the operators' routes as ${role}. The token is not kept anywhere:\n`);
      process.stdout.write(`${token}\n`);
    });
  operator
    .command('list')
    .description('print the names, roles and dates of all operators')
    .action(() => {
      const rows = (loadOperators(toFile()) ?? []).map(({ name, role, createdAt }) => [name, role, createdAt]);
      if (rows.length > 0) printTable(['Name', 'Role', 'Added'], rows);
      else process.stdout.write('There are no named operators.\n');
    });
  operator
    .command('revoke')
    .argument('<name>')
    .description('revoke the token of an operator; running services refuse it from the next request on')
    .action(async (name: string) => {
      const left = revokeOperator(toFile(), name);
      await recordCommand('operator.revoked', { name });
      process.stderr.write(`${name} is no longer an operator.\n`);
      if (left === 0 && !withEnvFile(process.env).OPERATOR_TOKEN)
        process.stderr.write(
          `Nobody is named any more, so nobody is let in, not even on this machine. Add an operator, set OPERATOR_TOKEN, or remove ${toFile()} to open the routes to this machine again.\n`,
        );
    });
}

function toFile(): string {
  const { OPERATORS_FILE, DATA_DIR } = withEnvFile(process.env);
  return toOperatorsFile({ OPERATORS_FILE: OPERATORS_FILE || undefined, DATA_DIR: DATA_DIR || './data' });
}
