import { withEnvFile } from '@palaver/service-kit';
import { checkAdapterFile } from '@palaver/ussd/commands/check-adapter';
import { checkProgramFiles, drawProgramFiles, type MenuReport } from '@palaver/ussd/commands/check-programs';
import { writeNewProgram } from '@palaver/ussd/commands/new-program';
import { type Command, InvalidArgumentError } from 'commander';
import { toCount } from '../options.ts';
import { printJson, printTable } from '../table.ts';
import { prepareFlow } from './phone.ts';

interface ProgramOptions {
  actions?: string;
  json?: boolean;
}

const one = "a program's folder";
const several = "a program's folder, or a folder of several";
const orBundled = (what: string) => `${what} (default: the bundled program)`;

export function addProgramCommands(cli: Command): void {
  const program = cli.command('program').alias('menu').description('write, check, try, test and publish USSD programs');
  program
    .command('new')
    .description('write a small program that works: a menu, a list, a question, a record and a test')
    .argument('<folder>', 'a new folder; its name is the name of the program')
    .option('--code <code>', 'the service code that it answers', '*384*5#')
    .option('--languages <tags>', 'which of en, fr and sw, comma separated', toList)
    .action(async (folder: string, { code, languages }: { code: string; languages?: string[] }) => {
      const files = await writeNewProgram({ folder, code, languages });
      process.stdout.write(`${files.join('\n')}\nDial it: npx palaver program run ${folder}\n`);
    });
  addImport(program);
  addCheck(program);
  addRun(program);
  addTest(program);
  addExplore(program);
  addVersions(program);
}

function addImport(program: Command): void {
  program
    .command('import')
    .description('copy an ODK form into a program and add a state for it')
    .argument('<form>', 'an XForm (.xml), or an XLSForm (.xlsx) if pyxform is installed')
    .argument('<folder>', "a program's folder; if there is none, a new program is created")
    .action(async (form: string, folder: string) => {
      const { importForm } = await import('@palaver/ussd/commands/import-form');
      print(await importForm({ form, folder }));
    });
}

function addCheck(program: Command): void {
  withJson(
    withActions(program.command('check').description('check programs for faults; exit with status 1 if there are any')),
  )
    .argument('[folder]', orBundled(several))
    .action(async (folder: string | undefined, { actions, json }: ProgramOptions) =>
      print(await checkProgramFiles({ folder, actions: actions ?? ownActions() }), json),
    );
  withActions(program.command('draw').description('print the states as a Mermaid flowchart'))
    .argument('[folder]', orBundled(one))
    .option('--language <tag>', 'language of the labels')
    .action(async (folder: string | undefined, { actions, language }: ProgramOptions & { language?: string }) =>
      print(await drawProgramFiles({ folder, actions: actions ?? ownActions() }, language)),
    );
}

function addTest(program: Command): void {
  withJson(
    withActions(
      program.command('test').description('play the dialogues of flows/*.yaml; exit with status 1 if a reply differs'),
    ),
  )
    .argument('<folder>', several)
    .option('--update', 'write what the program replies now into the dialogues that differ')
    .action(async (folder: string, { actions, json, update }: ProgramOptions & { update?: boolean }) => {
      const { testPrograms } = await import('@palaver/ussd/commands/test-programs');
      const progress = createProgress();
      const files = { folder, actions: actions ?? ownActions() };
      print(await testPrograms(files, { update, onProgress: progress.show }).finally(progress.clear), json);
    });
}

function addExplore(program: Command): void {
  withJson(
    withActions(
      program
        .command('explore')
        .description('try every path with generated answers in every language; exit with status 1 if there is a fault'),
    ),
  )
    .argument('<folder>', several)
    .option('--steps <number>', 'maximum number of answers, for each program and language', toCount, 20_000)
    .option('--seconds <number>', 'maximum time, for each program and language', toCount, 120)
    .action(async (folder: string, { json, ...options }: ProgramOptions & { steps: number; seconds: number }) => {
      const { actions = ownActions(), steps: maxSteps, seconds: maxSeconds } = options;
      const { explorePrograms } = await import('@palaver/ussd/commands/explore-programs');
      const progress = createProgress();
      const files = { folder, actions, maxSteps, maxSeconds, onProgress: progress.show };
      print(await explorePrograms(files).finally(progress.clear), json);
    });
}

function addVersions(program: Command): void {
  const load = () => import('@palaver/ussd/commands/publish-programs');
  program
    .command('publish')
    .description('publish a program to the database; running instances serve it within seconds')
    .argument('<folder>', one)
    .option('--note <text>', 'what is new in it')
    .option('--skip-tests', 'publish it without playing flows/*.yaml')
    .action(async (folder: string, options: { note?: string; skipTests?: boolean }) => {
      const version = await (await load()).publishFolder(withEnvFile(process.env), { folder, ...options });
      process.stdout.write(`${version}\n`);
    });
  program
    .command('versions')
    .description('print the versions of a program, the newest first')
    .argument('<name>', 'the name of the program')
    .option('--json', 'print them as JSON')
    .action(async (name: string, { json }: { json?: boolean }) => {
      const versions = await (await load()).listVersions(withEnvFile(process.env), name);
      if (json) return printJson(versions);
      const rows = versions.map(({ version, isCurrent, usedAt, publishedBy, note }) => [
        `${version}${isCurrent ? ' (in use)' : ''}`,
        ...[usedAt, publishedBy ?? 'folder', note ?? ''],
      ]);
      if (rows.length > 0) printTable(['Version', 'Used', 'By', 'Note'], rows);
      else process.stdout.write(`There is no version of ${name}.\n`);
    });
  program
    .command('rollback')
    .description('serve an earlier version')
    .argument('<name>', 'the name of the program')
    .argument('[version]', 'a version that `versions` lists (default: the previous one)')
    .action(async (name: string, version?: string) => {
      process.stdout.write(`${await (await load()).rollBack(withEnvFile(process.env), name, version)}\n`);
    });
  program
    .command('withdraw')
    .description('withdraw a published program; a program of that name in USSD_PROGRAMS is served again')
    .argument('<name>', 'the name of the program')
    .action(async (name: string) => {
      await (await load()).withdrawProgram(withEnvFile(process.env), name);
      process.stdout.write(`${name} is withdrawn.\n`);
    });
}

interface RunOptions extends ProgramOptions {
  code?: string;
  phone?: string;
  record?: string;
  name: string;
}

function addRun(program: Command): void {
  withActions(program.command('run').description('dial a program in the terminal, on an empty database'))
    .argument('<folder>', several)
    .option('--code <code>', 'service code to dial (default: the first of the program)')
    .option('--phone <number>', 'number to call from (default: a new one)')
    .option('--record <file>', 'save the dialogue as a test, for example flows/deposit.yaml')
    .option('--name <name>', 'what the dialogue is about', 'recorded')
    .action(async (folder: string, { record, name, actions, ...options }: RunOptions) => {
      const { runProgram } = await import('@palaver/ussd/commands/run-program');
      const write = record === undefined ? undefined : prepareFlow(record);
      const terminal = { input: process.stdin, output: process.stdout };
      const env = withEnvFile(process.env);
      const flow = await runProgram({ folder, ...options, actions: actions ?? ownActions(), env, ...terminal });
      write?.({ name, ...flow });
    });
}

function withActions(command: Command): Command {
  return command.option('--actions <module>', 'module of your own actions (default: USSD_ACTIONS)');
}

const ownActions = (): string | undefined => withEnvFile(process.env).USSD_ACTIONS;

const withJson = (command: Command): Command => command.option('--json', 'print the results as JSON');

function toList(text: string): string[] {
  const tags = text.split(',').map((tag) => tag.trim());
  if (tags.some((tag) => tag === '')) throw new InvalidArgumentError('expected tags such as en,sw');
  return tags;
}

function print({ lines, ...report }: MenuReport, json = false): void {
  if (json) printJson(report);
  else (report.ok ? process.stdout : process.stderr).write(`${lines.join('\n')}\n`);
  if (!report.ok) process.exitCode = 1;
}

function createProgress(): { show(text: string): void; clear(): void } {
  const write = (text: string) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  };
  return { show: (text) => write(text.slice(0, process.stderr.columns - 1)), clear: () => write('') };
}

export function addAdapterCommands(program: Command): void {
  const adapter = program.command('adapter').description('check adapters for telecom gateways');
  adapter
    .command('check')
    .description('check an adapter and print a dialogue in its form; exit with status 1 if it has faults')
    .argument('<file>', 'a YAML file, or a module that exports `adapter`')
    .action(async (file: string) => print(await checkAdapterFile(file, withEnvFile(process.env))));
}
