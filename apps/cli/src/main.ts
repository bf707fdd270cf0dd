import { exitOnStartFault, runMain, StartError, toConfigMessage, withEnvFile } from '@palaver/service-kit';
import { rotateKeys } from '@palaver/ussd/tools/rotate-keys';
import { Command } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { addMenuCommands } from './commands/menu.ts';
import { addPhoneCommands } from './commands/phone.ts';
import { addTokenCommand } from './commands/token.ts';
import { up } from './commands/up.ts';
import { type ServiceEntry, services, unknownVariables } from './services.ts';

const program = new Command('palaver')
  .description('Reach a verifiable assistant and a public protocol from any device.')
  .version(manifest.version)
  .showHelpAfterError();

program
  .command('up')
  .description('run everything in one process; this is what `npm start` calls')
  .action(() => up(withEnvFile(process.env)));

for (const { name, title, start } of Object.values(services) as ServiceEntry[]) {
  program
    .command(name)
    .description(`run the ${title} alone`)
    .action(() =>
      runMain((env) => {
        const faults = unknownVariables(env);
        if (faults.length > 0) throw new StartError(toConfigMessage(faults));
        return start(env);
      }, process.env),
    );
}

program.commands
  .find((command) => command.name() === 'ussd')
  ?.command('rotate-keys')
  .description('seal PINs with PIN_ENCRYPTION_KEY that were sealed with a key of PIN_ENCRYPTION_KEYS_OLD')
  .action(async () => {
    const { accounts, secret } = await rotateKeys(withEnvFile(process.env));
    process.stdout.write(`${accounts} PINs sealed anew${secret ? ', and the service secret' : ''}.\n`);
  });

addPhoneCommands(program);
addMenuCommands(program);
addTokenCommand(program);

program.parseAsync().catch(exitOnStartFault);
