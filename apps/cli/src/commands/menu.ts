import {
  checkMenuFiles,
  checkProgramFiles,
  drawMenuFiles,
  drawProgramFiles,
  type MenuReport,
} from '@palaver/ussd/commands/check-menu-files';
import type { Command } from 'commander';

interface MenuOptions {
  locales?: string;
  actions?: string;
  language?: string;
}

/** `palaver menu`: what an operator needs while writing menus. */
export function addMenuCommands(program: Command): void {
  const menu = program.command('menu').description('check and draw USSD menus');
  menu
    .command('check')
    .description('check menus for faults; exit with status 1 if there are any')
    .argument('[file]', 'a menu file or folder; the bundled menus when not given')
    .option('--locales <folder>', 'folder of the translations')
    .option('--actions <module>', 'module of your own actions, as in USSD_ACTIONS')
    .action(async (menus: string | undefined, { locales, actions }: MenuOptions) =>
      print(await checkMenuFiles({ menus, locales, actions })),
    );
  menu
    .command('draw')
    .description('print the tree as a Mermaid flowchart')
    .argument('[file]', 'a menu file or folder; the bundled menus when not given')
    .option('--locales <folder>', 'folder of the translations')
    .option('--language <tag>', 'language of the labels')
    .action(async (menus: string | undefined, { locales, language }: MenuOptions) =>
      print(await drawMenuFiles({ menus, locales }, language)),
    );
}

/** `palaver program`: the same for programs in folders. */
export function addProgramCommands(cli: Command): void {
  const program = cli.command('program').description('check and draw USSD programs');
  program
    .command('check')
    .description('check programs for faults; exit with status 1 if there are any')
    .argument('<folder>', "a program's folder, or a folder of several")
    .option('--actions <module>', 'module of your own actions, as in USSD_ACTIONS')
    .action(async (folder: string, { actions }: MenuOptions) => print(await checkProgramFiles({ folder, actions })));
  program
    .command('draw')
    .description('print the states as a Mermaid flowchart')
    .argument('<folder>', "a program's folder")
    .option('--actions <module>', 'module of your own actions, as in USSD_ACTIONS')
    .option('--language <tag>', 'language of the labels')
    .action(async (folder: string, { actions, language }: MenuOptions) =>
      print(await drawProgramFiles({ folder, actions }, language)),
    );
}

function print({ ok, lines }: MenuReport): void {
  (ok ? process.stdout : process.stderr).write(`${lines.join('\n')}\n`);
  if (!ok) process.exitCode = 1;
}
