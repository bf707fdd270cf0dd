import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { baseVariables, type Env, loadConfig } from '@palaver/service-kit';
import { z } from 'zod';

const { DATA_DIR, DATABASE_URL } = baseVariables({ port: 0 });
const schema = z.object({ DATA_DIR, DATABASE_URL });

export const storingServices = ['ussd', 'agent'] as const;

export interface ServiceDatabase {
  services: readonly (typeof storingServices)[number][];
  url: string;
}

/** Finds only those that exist: one that all services share, or one file for each. */
export function findDatabases(env: Env): { dataDir: string; databases: ServiceDatabase[] } {
  const config = loadConfig(schema, env);
  const dataDir = resolve(config.DATA_DIR);
  if (config.DATABASE_URL !== undefined) {
    return { dataDir, databases: [{ services: storingServices, url: config.DATABASE_URL }] };
  }
  const files = storingServices.map((service) => ({ service, path: join(dataDir, `${service}.sqlite`) }));
  const databases = files
    .filter(({ path }) => existsSync(path))
    .map(({ service, path }) => ({ services: [service], url: `file:${path}` }));
  return { dataDir, databases };
}
