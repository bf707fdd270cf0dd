import { createRequire } from 'node:module';
import { Command } from 'commander';
import { addAuditCommands } from './commands/audit.ts';
import { addBackupCommands } from './commands/backup.ts';
import { addChatCommand } from './commands/chat.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addOperatorCommands } from './commands/operator.ts';
import { addPhoneCommands } from './commands/phone.ts';
import { addAdapterCommands, addProgramCommands } from './commands/program.ts';
import { addServiceCommands } from './commands/service.ts';
import { addSubmissionCommands } from './commands/submissions.ts';
import { addTokenCommand } from './commands/token.ts';
import { addKeyCommands, addUserCommands } from './commands/user.ts';

export function createProgram(): Command {
  const { version } = createRequire(import.meta.url)('../package.json');
  const program = new Command('palaver')
    .description('Reach a verifiable assistant and a public protocol from any device.')
    .version(version)
    .showHelpAfterError();

  addServiceCommands(program);
  addTokenCommand(program);
  addChatCommand(program);
  addPhoneCommands(program);
  addAdapterCommands(program);
  addProgramCommands(program);
  addSubmissionCommands(program);
  addOperatorCommands(program);
  addDoctorCommand(program);
  addAuditCommands(program);
  addBackupCommands(program);
  addUserCommands(program);
  addKeyCommands(program);

  return program;
}
