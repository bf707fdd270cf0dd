import { CloseStack, createLogger, type Env, loadConfig } from '@palaver/service-kit';
import { toDatabaseUrl, toStoreOptions } from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { createAuditLog, keepAuditHead, openCipher, toAnchorPath } from '@palaver/store/internal';
import { loadSigner } from '../app/create-agent.ts';
import { deriveKey } from '../auth/seal.ts';
import { agentConfigSchema } from '../config.ts';
import type { OraclePlugin } from '../define/plugin.ts';
import { migrateAgent } from '../store/migrate.ts';
import type { AgentDatabase } from '../store/schema.ts';
import { createUserData, type UserData } from '../user-data.ts';

export type { UserData };

/** Opens the agent's database for `palaver user`, with the tables of the plugins. */
export async function withUserData<T>(
  env: Env,
  plugins: readonly OraclePlugin[],
  use: (data: UserData) => Promise<T>,
): Promise<T> {
  const config = loadConfig(agentConfigSchema, env);
  const logger = createLogger({ name: 'palaver', level: 'error' });
  const signer = await loadSigner(config, logger);
  await migrateAgent(env, plugins);
  await using opened = new CloseStack();
  const store = await openStore<AgentDatabase>(toDatabaseUrl(config, 'agent'), toStoreOptions(config));
  opened.defer(() => store.close());
  await openCipher(store);
  const audit = createAuditLog(store, {
    service: 'agent',
    referenceKey: deriveKey(signer.toSecret(), 'audit person'),
    ...keepAuditHead(toAnchorPath(config.DATA_DIR, 'agent'), logger),
  });
  opened.defer(() => audit.close());
  const agentDid = config.ORACLE_ENTITY_DID ?? config.ORACLE_DID ?? signer.did();
  return await use(createUserData({ store, audit, agentDid, plugins }));
}
