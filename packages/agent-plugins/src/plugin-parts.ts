import { createHmac } from 'node:crypto';
import type { PluginContext, PluginManifest } from '@palaver/agent';
import { createGatewayClient, createOutboxTables } from '@palaver/protocol';
import { toGatewayAccess } from '@palaver/protocol/internal';
import { envInteger, StartError } from '@palaver/service-kit';
import type { Migration } from '@palaver/store';
import type { RawBuilder } from 'kysely';

/** The prompt does not mention a plugin that does not say when to use it. */
export function toManifest(title: string, summary: string, more: Partial<PluginManifest> = {}): PluginManifest {
  const visibility = more.whenToUse ? 'always' : 'silent';
  return { title, summary, whenToUse: [], category: 'core', visibility, stability: 'stable', ...more };
}

export function createClientHash(deriveKey: PluginContext['deriveKey']): (client: string) => string {
  const key = deriveKey('client addresses');
  return (client) => createHmac('sha256', key).update(client).digest('base64url');
}

/** The first tables of a plugin; `outbox` names those of its transactions on the chain. */
export function toFirstSchema(statements: readonly RawBuilder<unknown>[], outbox?: string): Migration[] {
  return [
    {
      name: '0001',
      async up(db) {
        for (const statement of statements) await statement.execute(db);
        if (outbox) await createOutboxTables(db, outbox);
      },
    },
  ];
}

/** `name` is the variable that asks for it. */
export function openGateway(config: Parameters<typeof toGatewayAccess>[0], name: string, what = 'the chain is') {
  const access = toGatewayAccess(config);
  if (!access) throw new StartError(`${name} needs GATEWAY_URL: ${what} read through the query gateway`);
  return createGatewayClient(access);
}

export const settledVariables = {
  RETENTION_CLAIMS_DAYS: envInteger({ min: 0, max: 36_500 }).prefault('0').meta({
    description:
      'Days that usage claims, orders on the chain and their transactions are kept after they were settled; 0 keeps them until erased.',
  }),
};
