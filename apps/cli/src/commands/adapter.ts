import { withEnvFile } from '@palaver/service-kit';
import { checkAdapterFile } from '@palaver/ussd/commands/check-adapter';
import type { Command } from 'commander';
import { print } from './program.ts';

/** `palaver adapter`: for those who connect a telecom gateway. */
export function addAdapterCommands(program: Command): void {
  const adapter = program.command('adapter').description('check adapters for telecom gateways');
  adapter
    .command('check')
    .description('check an adapter and print a dialogue in its form; exit with status 1 if it has faults')
    .argument('<file>', 'a YAML file, or a module that exports `adapter`')
    .action(async (file: string) => print(await checkAdapterFile(file, withEnvFile(process.env))));
}
