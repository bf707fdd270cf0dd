import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { BaseConfig } from './base-config.ts';
import { StartError } from './errors.ts';

// What the services write there. Other files are not touched: DATA_DIR may be set to the wrong folder.
const ownFiles = /\.(?:sqlite(?:-wal|-shm|-journal)?|key|json)$/;

/** Makes sure that the folder exists and is writable, and that nobody else can read it or its files. */
export function prepareDataDir(path: string): string {
  const folder = resolve(path);
  try {
    makeFolder(folder, { mode: 0o700 });
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartError(`The data folder ${folder} cannot be written to (${code}); set DATA_DIR to one that can.`, {
      cause: error,
    });
  }
  makeAllPrivate(folder);
  return folder;
}

/** With a database elsewhere the folder has only keys and operators; it may be read-only or missing. */
function closeDataDir(path: string): void {
  try {
    if (existsSync(path)) makeAllPrivate(resolve(path));
  } catch {
    // The files themselves are written with mode 0600.
  }
}

function makeAllPrivate(folder: string): void {
  if (process.platform === 'win32') return;
  makePrivate(folder, 0o700);
  for (const { name } of readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile()))
    if (ownFiles.test(name)) makePrivate(join(folder, name), 0o600);
}

function makePrivate(path: string, mode: number): void {
  const found = lstatSync(path, { throwIfNoEntry: false }); // a journal may be gone by now
  if (!found || (found.mode & 0o777) === mode) return;
  // A shared folder such as /tmp is sticky; closing it would break the machine.
  if ((found.mode & 0o1000) !== 0 || path === '/')
    throw new StartError(`The data folder ${path} is shared with other users; set DATA_DIR to one of its own.`);
  try {
    chmodSync(path, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || (found.mode & 0o007) === 0) return;
    throw new StartError(`${path} can be read by every user of this machine; run: chmod ${mode.toString(8)} ${path}`, {
      cause: error,
    });
  }
}

export function toDatabaseUrl(config: Pick<BaseConfig, 'DATABASE_URL' | 'DATA_DIR'>, service: string): string {
  if (config.DATABASE_URL === undefined) return `file:${join(prepareDataDir(config.DATA_DIR), `${service}.sqlite`)}`;
  closeDataDir(config.DATA_DIR);
  return config.DATABASE_URL;
}

export function toStoreOptions(
  config: Pick<BaseConfig, 'DATABASE_POOLER' | 'DATABASE_READ_URL' | 'MIGRATE_ON_START' | 'DATA_ENCRYPTION_KEY'>,
) {
  return {
    pooler: config.DATABASE_POOLER,
    readUrl: config.DATABASE_READ_URL,
    migrations: config.MIGRATE_ON_START ? ('apply' as const) : ('check' as const),
    dataKeys: config.DATA_ENCRYPTION_KEY,
  };
}

export function toDataFolder({ DATABASE_URL, DATA_DIR }: Pick<BaseConfig, 'DATABASE_URL' | 'DATA_DIR'>) {
  if (DATABASE_URL === undefined) return resolve(DATA_DIR);
  return DATABASE_URL.startsWith('file:') ? dirname(resolve(DATABASE_URL.slice('file:'.length))) : undefined;
}

/** `mkdirSync` with `recursive` never returns where an existing folder answers ENOENT, as `/proc` does. */
export function makeFolder(path: string, options: { mode?: number } = {}): void {
  const folder = resolve(path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  if (!existsSync(dirname(folder))) makeFolder(dirname(folder), options);
  try {
    mkdirSync(folder, options);
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/** Created with mode 0600 at the first start. Processes that start at once all read the file that came first. */
export function loadOrCreateSecretFile(path: string, create: () => string): { secret: string; created: boolean } {
  const read = () => readFileSync(path, 'utf8').trim();
  if (existsSync(path)) return { secret: read(), created: false };
  // Written aside and then linked into place, so that nobody reads a half-written file.
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(aside, `${create()}\n`, { mode: 0o600, flag: 'wx', flush: true });
  let created = true;
  try {
    linkSync(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    created = false;
  } finally {
    unlinkSync(aside);
  }
  return { secret: read(), created };
}
