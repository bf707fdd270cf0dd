import { json } from 'node:stream/consumers';
import type { UserData } from '@palaver/agent/user-data';
import { didPattern, phoneNumberPattern } from '@palaver/contract';
import { type Env, StartError, withEnvFile } from '@palaver/service-kit';
import type { Command } from 'commander';
import { findDatabases } from '../databases.ts';

const by = { actor: 'command', from: null } as const;

export function addUserCommands(program: Command): void {
  const user = program.command('user').description('export or erase everything that is stored about a person');
  const argument = ['<who>', 'a phone number (+254700000001) or a DID'] as const;
  user
    .command('export')
    .description('print everything that all services store about a person, as JSON')
    .argument(...argument)
    .action(async (who: string) => {
      process.stdout.write(`${JSON.stringify(await exportPerson(withEnvFile(process.env), who), undefined, 2)}\n`);
    });
  user
    .command('erase')
    .description('erase everything that all services store about a person')
    .argument(...argument)
    .option('--yes', 'confirm: it cannot be undone')
    .action(async (who: string, { yes }: { yes?: boolean }) => {
      if (!yes) throw new StartError('This cannot be undone. Confirm with --yes.');
      await erasePerson(withEnvFile(process.env), who);
      process.stdout.write('Erased.\n');
    });
}

async function exportPerson(env: Env, who: string): Promise<object> {
  const { phone, did } = await identify(env, who);
  const agent = await withAgentData(env, async (data) => json(await data.export(did, by)));
  if (phone === undefined) return { agent };
  const { withPersonData } = await import('@palaver/ussd/commands/database');
  return { ussd: await withPersonData(env, (data) => data.export(phone, by)), agent };
}

async function erasePerson(env: Env, who: string): Promise<void> {
  const { phone, did } = await identify(env, who);
  await withAgentData(env, (data) => data.erase(did, by));
  if (phone === undefined) return;
  const { withPersonData } = await import('@palaver/ussd/commands/database');
  await withPersonData(env, (data) => data.erase(phone, by));
}

/** A phone number has its own DID at the agent. */
async function identify(env: Env, who: string): Promise<{ phone: string | undefined; did: string }> {
  if (didPattern.test(who)) return { phone: undefined, did: who };
  if (!phoneNumberPattern.test(who))
    throw new StartError(`"${who}" is neither a phone number such as +254700000001 nor a DID.`);
  const { withPersonData } = await import('@palaver/ussd/commands/database');
  return { phone: who, did: await withPersonData(env, (_, didOf) => didOf(who)) };
}

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

async function withAgentData<T>(env: Env, use: (data: UserData) => Promise<T>): Promise<T> {
  const { withUserData } = await import('@palaver/agent/user-data');
  const { createBundledPlugins } = await import('@palaver/agent-plugins');
  return withUserData(env, createBundledPlugins(), use);
}
