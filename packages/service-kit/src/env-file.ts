import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { Env } from './config.ts';

/**
 * The environment with the values of a `.env` file under it: what is set in the environment wins.
 *
 * @example
 * ```ts
 * import { createOracleApp } from '@palaver/agent-plugins';
 * import { withEnvFile } from '@palaver/service-kit';
 *
 * export const app = await createOracleApp({ env: withEnvFile(process.env) });
 * ```
 */
export function withEnvFile(env: Env, path = '.env'): Env {
  try {
    return { ...parseEnv(readFileSync(path, 'utf8')), ...env };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return env;
    throw error;
  }
}
