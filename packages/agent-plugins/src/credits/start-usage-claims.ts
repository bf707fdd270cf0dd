import { agentVariables, removeSettled } from '@palaver/agent';
import { createGatewayClient, createTxOutbox, type TxOutbox } from '@palaver/protocol';
import {
  claimsVariables,
  envCollection,
  envSigningKey,
  loadSigningAccount,
  signingVariables,
  toGatewayAccess,
} from '@palaver/protocol/internal';
import { envInteger, type Logger, StartError } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import type { Store } from '@palaver/store';
import type { z } from 'zod';
import { settledVariables } from '../settled-variables.ts';
import type { Ledger } from './credits-ledger.ts';
import type { CreditsDatabase } from './credits-schema.ts';
import type { paymentVariables } from './start-payment-watch.ts';
import { createUsageClaims, onUsageSettled, type UsageClaims } from './usage-claims.ts';

export const usageVariables = {
  ...signingVariables,
  NODE_ENV: agentVariables.NODE_ENV,
  DATA_DIR: agentVariables.DATA_DIR,
  USAGE_COLLECTION: envCollection().optional().meta({
    description:
      'Collection of the protocol in which paid answers become claims. If not set, no usage becomes a claim.',
    example: '4',
  }),
  USAGE_PERIOD_SECONDS: envInteger({ min: 1, max: 31 * 86_400 })
    .prefault('86400')
    .meta({
      description: 'Seconds that one claim covers of what a user paid for.',
      example: '86400',
    }),
  USAGE_SIGNING_KEY: envSigningKey(),
  ...claimsVariables('/claims/process'),
  ...settledVariables,
};

/** Failed claims stay until an operator has looked at them. */
const retention = [
  { table: 'agent_usage_claim', time: 'checked_at', statuses: ['paid', 'rejected'] },
  { table: 'agent_usage_tx', time: 'created_at', statuses: ['included'] },
];

type UsageConfig = z.infer<z.ZodObject<typeof usageVariables & typeof paymentVariables>>;

export interface RunningUsageClaims {
  claims: UsageClaims;
  outbox: TxOutbox<CreditsDatabase>;
  stop(): Promise<void>;
}

/** Submits usage as claims where USAGE_COLLECTION is set, every CLAIMS_INTERVAL_SECONDS. */
export async function startUsageClaims(parts: {
  config: UsageConfig;
  store: Store<CreditsDatabase>;
  ledger: Ledger;
  agentDid: string;
  logger: Logger;
}): Promise<RunningUsageClaims | undefined> {
  const { config, store, ledger, agentDid, logger } = parts;
  const { USAGE_COLLECTION: collection, CLAIMS_INTERVAL_SECONDS: seconds } = config;
  if (collection === undefined) return undefined;
  const access = toGatewayAccess(config);
  if (!access) throw new StartError('USAGE_COLLECTION needs GATEWAY_URL: the chain is read through the query gateway');
  const account = await loadSigningAccount(config, { service: 'usage', key: config.USAGE_SIGNING_KEY, logger });
  const gateway = createGatewayClient(access);
  const outbox = createTxOutbox<CreditsDatabase>({
    ...{ store, service: 'agent_usage', gateway, account, logger },
    onSettled: onUsageSettled,
  });
  const periodMs = config.USAGE_PERIOD_SECONDS * 1000;
  const claims = createUsageClaims({ store, ledger, outbox, gateway, collection, periodMs, agentDid, logger });
  const { stop } = runEvery({
    everyMs: seconds * 1000,
    work: claims.process,
    onFault: (error) => logger.warn({ err: error }, 'usage claims cannot be processed now'),
  });
  const removing = removeSettled({ store, logger, days: config.RETENTION_CLAIMS_DAYS, rules: retention });
  return {
    claims,
    outbox,
    async stop() {
      await Promise.all([stop(), removing.stop()]);
    },
  };
}
