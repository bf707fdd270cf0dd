import { exitOnStartFault, runMain, StartError, toConfigMessage, withEnvFile } from '@palaver/service-kit';
import { Command } from 'commander';
import manifest from '../package.json' with { type: 'json' };
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

addTokenCommand(program);

program.parseAsync().catch(exitOnStartFault);
