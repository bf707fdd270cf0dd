import { json } from 'node:stream/consumers';
import { didPattern, phoneNumberPattern } from '@palaver/contract';
import { type Env, StartError, withEnvFile } from '@palaver/service-kit';
import type { Command } from 'commander';
import { withAgentData } from '../agent-data.ts';

const by = { actor: 'command', from: null } as const;

/** `palaver user export` and `palaver user erase`. */
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
