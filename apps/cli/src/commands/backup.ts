import { withEnvFile } from '@palaver/service-kit';
import type { Command } from 'commander';

/** `palaver backup` and `palaver restore`. */
export function addBackupCommands(program: Command): void {
  program
    .command('backup')
    .description('copy the SQLite databases and keys of DATA_DIR into a new folder, while services run')
    .argument('<folder>', 'folder to write to; it must be empty or not exist')
    .action(async (folder: string) => {
      const { backUp } = await import('../backup.ts');
      const names = await backUp(withEnvFile(process.env), folder);
      process.stdout.write(`${folder}: ${names.join(', ')}\nKeys given as variables are not in it: keep those too.\n`);
    });
  program
    .command('restore')
    .description('restore a backup to DATA_DIR; stop the services first, nothing is overwritten')
    .argument('<folder>', 'folder written by `palaver backup`')
    .action(async (folder: string) => {
      const { restore } = await import('../backup.ts');
      process.stdout.write(`Restored ${restore(withEnvFile(process.env), folder).join(', ')}.\n`);
    });
}
