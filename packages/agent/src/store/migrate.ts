import { baseVariables, type Env, loadConfig } from '@palaver/service-kit';
import { toDatabaseUrl, toStoreOptions } from '@palaver/service-kit/internal';
import { openStore, type Store } from '@palaver/store';
import { auditMigrations, type CipherStore, openCipher } from '@palaver/store/internal';
import { z } from 'zod';
import type { OraclePlugin } from '../define/plugin.ts';
import { migratePlugin } from '../define/start-plugins.ts';
import { agentMigrations } from './migrations.ts';
import type { AgentDatabase } from './schema.ts';

/** Brings the tables of the agent itself up to date, those of its audit log included, and opens its cipher. */
export async function migrateAgentTables(store: CipherStore & Pick<Store<AgentDatabase>, 'migrate'>): Promise<void> {
  await store.migrate('audit', auditMigrations);
  await openCipher(store);
  await store.migrate('agent', agentMigrations);
}

/** Brings the agent's database up to date without starting the agent: its own tables, and those of the plugins. */
export async function migrateAgent(env: Env, plugins: readonly OraclePlugin[]): Promise<void> {
  const config = loadConfig(z.object(baseVariables({ port: 0 })), env);
  const store = await openStore<AgentDatabase>(toDatabaseUrl(config, 'agent'), {
    ...toStoreOptions(config),
    migrations: 'apply',
  });
  try {
    await migrateAgentTables(store);
    for (const plugin of plugins) await migratePlugin(plugin, store);
  } finally {
    await store.close();
  }
}
