import { createGatewayClient, createTxOutbox } from '@palaver/protocol';
import { loadSigningAccount } from '@palaver/protocol/internal';
import { StartError } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import type { Deployment } from '../store/deployment.ts';
import type { UssdTables } from '../store/tables.ts';
import { createClaims, onClaimSettled } from './claims.ts';
import { createPayouts, onPayoutSettled } from './payouts.ts';

export async function startClaims({ config, access, store, clock, logger }: Deployment) {
  const { CLAIMS_COLLECTION: collection, CLAIMS_INTERVAL_SECONDS: seconds, PAYOUT_DAILY_LIMIT: limit } = config;
  if (collection === undefined && limit)
    throw new StartError('PAYOUT_DAILY_LIMIT needs CLAIMS_COLLECTION: rewards of claims are what is paid out');
  if (collection === undefined) return undefined;
  if (!access) throw new StartError('CLAIMS_COLLECTION needs GATEWAY_URL: the chain is read through the query gateway');
  const account = await loadSigningAccount(config, { service: 'ussd', key: config.USSD_SIGNING_KEY, logger });
  const gateway = createGatewayClient(access);
  const outbox = createTxOutbox<UssdTables>({
    store,
    service: 'ussd',
    gateway,
    account,
    logger,
    async onSettled(trx, row, outcome) {
      await onClaimSettled(trx, row, outcome);
      await onPayoutSettled(trx, row, outcome);
    },
  });
  const agentDid = config.CLAIMS_AGENT_DID ?? `did:x:${account.address}`;
  const claims = createClaims({ store, outbox, gateway, collection, agentDid, clock, logger });
  const { stop } = runEvery({
    everyMs: seconds * 1000,
    work: claims.process,
    onFault: (error) => logger.warn({ err: error }, 'claims cannot be processed now'),
  });
  return { claims, outbox, payouts: limit && createPayouts({ store, outbox, limit }), stop };
}

export type RunningClaims = NonNullable<Awaited<ReturnType<typeof startClaims>>>;
