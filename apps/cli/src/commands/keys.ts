import { withEnvFile } from '@palaver/service-kit';
import type { Command } from 'commander';
import { withAgentData } from '../agent-data.ts';
import { findDatabases } from '../databases.ts';

const by = { actor: 'command', from: null } as const;

/** `palaver keys rotate`. */
export function addKeyCommands(program: Command): void {
  program
    .command('keys')
    .description('manage the keys that encrypt stored data')
    .command('rotate')
    .description('encrypt all stored data with the first key of DATA_ENCRYPTION_KEY; services can keep running')
    .action(async () => {
      const env = withEnvFile(process.env);
      const services = findDatabases(env).databases.flatMap(({ services }) => services);
      const rows: Record<string, number> = {};
      if (services.includes('ussd')) {
        const { withPersonData } = await import('@palaver/ussd/commands/database');
        rows.ussd = await withPersonData(env, (data) => data.encrypt(by));
      }
      if (services.includes('agent')) {
        rows.agent = await withAgentData(env, (data) => data.encrypt(by));
      }
      for (const [service, count] of Object.entries(rows))
        process.stdout.write(`${service}: ${count} rows encrypted.\n`);
    });
}
