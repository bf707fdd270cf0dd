import { join } from 'node:path';
import { AppError } from '@palaver/contract';
import { createForms } from '@palaver/forms/internal';
import { type Fault, formatFault, type ProgramSource } from '@palaver/program/internal';
import { type Env, StartError } from '@palaver/service-kit';
import { bundledProgram, createFindUnmetNeeds, loadRegistry } from '../catalog/bundled-program.ts';
import { fromSource, programFilesSchema } from '../catalog/program-files.ts';
import { openPrograms } from '../catalog/programs.ts';
import { createPublishedPrograms } from '../catalog/published.ts';
import { createPublishing, type Publishing } from '../catalog/publishing.ts';
import { readProgramSource, SourceFault } from '../catalog/read-source.ts';
import { toProgramSecrets } from '../config.ts';
import { withDatabase } from './database.ts';
import { toProgramName } from './new-program.ts';
import { testPrograms } from './test-programs.ts';

const by = { actor: 'command', from: null } as const;

/** A program whose own dialogues fail is refused, unless `skipTests` is set. */
export async function publishFolder(
  env: Env,
  { folder, note, skipTests = false }: { folder: string; note?: string | undefined; skipTests?: boolean | undefined },
): Promise<string> {
  if (!skipTests) {
    const { lines, flows } = await testPrograms({ folder, actions: env.USSD_ACTIONS });
    const failed = lines.filter((_, i) => flows[i]?.ok === false);
    if (failed.length > 0)
      throw new StartError(
        `${failed.join('\n')}\n${failed.length} of ${flows.length} tests fail, so the program is not published. Publish it anyway with --skip-tests.`,
      );
  }
  return withPublishing(env, async (publishing) => {
    const name = toProgramName(folder);
    const source = await readProgramSource(folder);
    const parsed = programFilesSchema.safeParse(asXml(fromSource(source)));
    if (!parsed.success) {
      const { path = [], message } = parsed.error.issues[0] ?? {};
      throw new StartError(`${join(folder, ...path.map(String))}: ${message}`);
    }
    const published = publishing.publish(name, { files: parsed.data, note }, by);
    return (await published.catch(withFiles(source))).version;
  });
}

/** Faults name the files of the folder, as `check` does. */
function withFiles({ files }: ProgramSource): (error: unknown) => never {
  const known = new Map(files.map(({ path, file }) => [path.replace(/\.xlsx$/, '.xml'), file]));
  return (error) => {
    throw toStartError(error, (path) => known.get(path) ?? path);
  };
}

function toStartError(error: unknown, toFile = (path: string) => path): unknown {
  if (error instanceof SourceFault) return new StartError(`${error.path}: ${error.message}`, { cause: error });
  if (!(error instanceof AppError)) return error;
  const faults = error.details.faults as Fault[] | undefined;
  const lines = faults?.map((fault) => formatFault({ ...fault, file: toFile(fault.file) }));
  return new StartError(lines?.join('\n') ?? error.message, { cause: error });
}

/** XLSForms were converted when they were read, so their names and references become those of XML files. */
function asXml(files: Record<string, string>): Record<string, string> {
  const converted = Object.keys(files).filter((path) => path.endsWith('.xlsx'));
  return Object.fromEntries(
    Object.entries(files).map(([path, text]) => [
      path.replace(/\.xlsx$/, '.xml'),
      converted.reduce((all, form) => all.replaceAll(form, form.replace(/\.xlsx$/, '.xml')), text),
    ]),
  );
}

export function listVersions(env: Env, name: string) {
  return withPublishing(env, (publishing) => publishing.versions(name));
}

/** Without a version: the one that the current version replaced. */
export function rollBack(env: Env, name: string, version?: string): Promise<string> {
  return withPublishing(env, async (publishing) => {
    const all = await publishing.versions(name);
    const wanted = version ?? all.find(({ isCurrent }) => isCurrent)?.replaced ?? undefined;
    if (wanted === undefined) throw new StartError(`There is no earlier version of ${name}.`);
    return (await publishing.rollBack(name, wanted, by)).version;
  });
}

export function withdrawProgram(env: Env, name: string): Promise<void> {
  return withPublishing(env, (publishing) => publishing.withdraw(name, by));
}

function withPublishing<T>(env: Env, use: (publishing: Publishing) => Promise<T>): Promise<T> {
  return withDatabase(env, async ({ config, logger, store, audit }) => {
    const clock = { now: Date.now };
    const published = createPublishedPrograms(store, clock);
    await using forms = createForms();
    const programs = await openPrograms({
      folder: config.USSD_PROGRAMS ?? bundledProgram,
      registry: await loadRegistry(config.USSD_ACTIONS),
      findUnmetNeeds: createFindUnmetNeeds(config, toProgramSecrets(env)),
      forms,
      published,
      watch: false,
      logger,
    });
    const readOnly = config.PROGRAMS_READONLY;
    const parts = { store, programs, published, audit, clock, readOnly };
    try {
      return await use(createPublishing(parts));
    } catch (error) {
      throw toStartError(error);
    } finally {
      programs.close();
    }
  });
}
