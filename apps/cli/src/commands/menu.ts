import { checkMenuFiles, drawMenuFiles } from '@palaver/ussd/commands/check-menu-files';
import type { Command } from 'commander';
import { print } from './program.ts';

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
    .argument('[file]', 'a menu file or folder (default: the bundled menus)')
    .option('--locales <folder>', 'folder of the translations')
    .option('--actions <module>', 'module of your own actions, as in USSD_ACTIONS')
    .action(async (menus: string | undefined, { locales, actions }: MenuOptions) =>
      print(await checkMenuFiles({ menus, locales, actions })),
    );
  menu
    .command('draw')
    .description('print the menus as a Mermaid flowchart')
    .argument('[file]', 'a menu file or folder (default: the bundled menus)')
    .option('--locales <folder>', 'folder of the translations')
    .option('--language <tag>', 'language of the labels')
    .action(async (menus: string | undefined, { locales, language }: MenuOptions) =>
      print(await drawMenuFiles({ menus, locales }, language)),
    );
}
