import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { type Env, StartError, withEnvFile } from '@palaver/service-kit';
import { prepareDataDir } from '@palaver/service-kit/internal';
import type { Command } from 'commander';
import { findDatabases } from '../databases.ts';

export function addBackupCommands(program: Command): void {
  program
    .command('backup')
    .description('copy the SQLite databases and keys of DATA_DIR into a new folder, while services run')
    .argument('<folder>', 'folder to write to; it must be empty or not exist')
    .action(async (folder: string) => {
      const names = await backUp(withEnvFile(process.env), folder);
      process.stdout.write(`${folder}: ${names.join(', ')}\nKeys given as variables are not in it: keep those too.\n`);
    });
  program
    .command('restore')
    .description('restore a backup to DATA_DIR; stop the services first, nothing is overwritten')
    .argument('<folder>', 'folder written by `palaver backup`')
    .action((folder: string) => {
      process.stdout.write(`Restored ${restore(withEnvFile(process.env), folder).join(', ')}.\n`);
    });
}

interface Manifest {
  createdAt: string;
  files: { name: string; sha256: string }[];
}

const manifestName = 'backup.json';
/** Kept beside the databases: keys that cannot be made again, operators, the heads of audit logs. */
const keptFile = /\.key$|^audit-head-.*\.json$|^operators\.json$/;

async function backUp(env: Env, target: string): Promise<string[]> {
  const { databases, dataDir } = findDatabases(env);
  const remote = databases.find(({ url }) => !url.startsWith('file:'));
  if (remote) throw new StartError('The data is in PostgreSQL: back it up with pg_dump, see docs/deploying.md.');
  if (databases.length === 0) throw new StartError(`There is no database in ${dataDir}.`);
  const folder = resolve(target);
  if (existsSync(folder) && readdirSync(folder).length > 0) throw new StartError(`${folder} is not empty.`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  // Keys first: a database must never be newer than the key it is read with.
  const kept = existsSync(dataDir) ? readdirSync(dataDir).filter((file) => keptFile.test(file)) : [];
  for (const name of kept) copyPrivate(join(dataDir, name), join(folder, name));
  const sources = databases.map(({ url }) => resolve(url.slice('file:'.length)));
  for (const source of sources) await copyDatabase(source, join(folder, basename(source)));
  const names = [...kept, ...sources.map((source) => basename(source))];
  const files = names.map((name) => ({ name, sha256: hashFile(join(folder, name)) }));
  const manifest: Manifest = { createdAt: new Date().toISOString(), files };
  writeFileSync(join(folder, manifestName), `${JSON.stringify(manifest, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' });
  return names;
}

/** Refuses an incomplete or damaged backup, and never overwrites. */
function restore(env: Env, source: string): string[] {
  const { dataDir } = findDatabases(env);
  const folder = resolve(source);
  const names = readManifest(folder).files.map(({ name, sha256 }) => {
    if (basename(name) !== name || !existsSync(join(folder, name)) || hashFile(join(folder, name)) !== sha256) {
      throw new StartError(`${join(folder, name)} is missing or damaged; nothing was restored.`);
    }
    return name;
  });
  const taken = names.flatMap((name) => [name, `${name}-wal`]).filter((name) => existsSync(join(dataDir, name)));
  if (taken.length > 0) {
    throw new StartError(`${dataDir} already holds ${taken.join(', ')}; move it away first. Nothing was restored.`);
  }
  // Before the first copy: for a moment, a copy has the mode of its source.
  prepareDataDir(dataDir);
  for (const name of names) copyPrivate(join(folder, name), join(dataDir, name));
  return names;
}

/** SQLite's online backup copies one consistent state while others write. */
async function copyDatabase(source: string, target: string): Promise<void> {
  writeFileSync(target, '', { mode: 0o600, flag: 'wx' });
  const database = new DatabaseSync(source, { readOnly: true });
  try {
    await backup(database, target, { rate: 1_000 });
  } finally {
    database.close();
  }
  const copy = new DatabaseSync(target);
  try {
    // Without a write-ahead log the copy is one file, which can be moved as a file.
    copy.exec('pragma journal_mode = delete');
    const [result] = copy.prepare('pragma quick_check').all();
    if (result?.quick_check !== 'ok') throw new StartError(`The copy of ${source} is damaged: ${result?.quick_check}`);
  } finally {
    copy.close();
  }
}

function readManifest(folder: string): Manifest {
  try {
    return JSON.parse(readFileSync(join(folder, manifestName), 'utf8')) as Manifest;
  } catch (error) {
    throw new StartError(`${folder} is not a finished backup: it has no ${manifestName}.`, { cause: error });
  }
}

function copyPrivate(source: string, target: string): void {
  copyFileSync(source, target);
  chmodSync(target, 0o600);
}

const hashFile = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');
