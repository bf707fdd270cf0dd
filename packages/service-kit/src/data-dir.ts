import { accessSync, constants, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { BaseConfig } from './base-config.ts';
import { StartError } from './start-error.ts';

/** Makes sure the data folder is there and can be written to. */
export function prepareDataDir(path: string): string {
  const folder = resolve(path);
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartError(`The data folder ${folder} cannot be written to (${code}); set DATA_DIR to one that can.`, {
      cause: error,
    });
  }
  return folder;
}

/** The database of a service: `DATABASE_URL`, or a file of its own in the data folder. */
export function toDatabaseUrl(config: Pick<BaseConfig, 'DATABASE_URL' | 'DATA_DIR'>, service: string): string {
  return config.DATABASE_URL ?? `file:${join(prepareDataDir(config.DATA_DIR), `${service}.sqlite`)}`;
}

/** How a service opens its database, as `openStore` of `@palaver/store` takes it. */
export function toStoreOptions(
  config: Pick<BaseConfig, 'DATABASE_POOLER' | 'DATABASE_READ_URL' | 'MIGRATE_ON_START'>,
): { pooler: 'auto' | 'transaction' | 'none'; readUrl: string | undefined; migrations: 'apply' | 'check' } {
  return {
    pooler: config.DATABASE_POOLER,
    readUrl: config.DATABASE_READ_URL,
    migrations: config.MIGRATE_ON_START ? 'apply' : 'check',
  };
}
