import { type Env, runMain, StartError, withEnvFile } from '@palaver/service-kit';
import { toConfigMessage } from '@palaver/service-kit/internal';
import type { Command } from 'commander';
import { serviceTitles } from '../service-titles.ts';
import type { ServiceName } from '../services.ts';
import { addGatewayCommands } from './gateway.ts';

/** A command imports what it needs when it runs, so that the others start at once. */
export function addServiceCommands(program: Command): void {
  program
    .command('up')
    .description('run everything in one process; this is what `npm start` calls')
    .action(async () => {
      const { up } = await import('./up.ts');
      await up(withEnvFile(process.env));
    });
  program
    .command('migrate')
    .description('migrate the databases of all services; needed with MIGRATE_ON_START=false')
    .action(async () => {
      const { migrateUssdDatabase } = await import('@palaver/ussd/commands/database');
      const { migrateAgent } = await import('@palaver/agent/migrate');
      const { createBundledPlugins } = await import('@palaver/agent-plugins');
      const env = withEnvFile(process.env);
      await migrateUssdDatabase(env);
      await migrateAgent(env, createBundledPlugins());
      process.stdout.write('The databases are up to date.\n');
    });
  for (const [name, title] of Object.entries(serviceTitles) as [ServiceName, string][]) {
    const command = program.command(name).description(`run the ${title} alone`);
    command.action(() => runMain((env) => startAlone(name, env), process.env));
    if (name === 'ussd') addRotateKeys(command);
    if (name === 'gateway') addGatewayCommands(command);
  }
}

async function startAlone(name: ServiceName, env: Env) {
  const { services, unknownVariables } = await import('../services.ts');
  const faults = unknownVariables(env);
  if (faults.length > 0) throw new StartError(toConfigMessage(faults));
  return services[name].start(env);
}

function addRotateKeys(ussd: Command): void {
  ussd
    .command('rotate-keys')
    .description('encrypt PINs with PIN_ENCRYPTION_KEY that were encrypted with a key of PIN_ENCRYPTION_KEYS_OLD')
    .action(async () => {
      const { rotateKeys } = await import('@palaver/ussd/commands/database');
      const { accounts, secret } = await rotateKeys(withEnvFile(process.env));
      process.stdout.write(`${accounts} PINs encrypted again${secret ? ', and the service secret' : ''}.\n`);
    });
}
