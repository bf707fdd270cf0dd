import { createGatewayClient, createTxOutbox, type GatewayAccess, type TxOutbox } from '@palaver/protocol';
import { loadSigningAccount } from '@palaver/protocol/internal';
import { type Logger, StartError } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import type { UssdConfig } from '../config.ts';
import type { Clock, UssdStore, UssdTables } from '../store/tables.ts';
import { type Claims, createClaims, onClaimSettled } from './claims.ts';
import { createPayouts, onPayoutSettled, type Payouts } from './payouts.ts';

export interface ClaimsServiceParts {
  config: UssdConfig;
  access: GatewayAccess | undefined;
  store: UssdStore;
  clock: Clock;
  logger: Logger;
}

export interface RunningClaims {
  claims: Claims;
  outbox: TxOutbox<UssdTables>;
  payouts: Payouts | undefined;
  stop(): Promise<void>;
}

/** Turns reports into claims where CLAIMS_COLLECTION is set, and processes them every CLAIMS_INTERVAL_SECONDS. */
export async function startClaims(parts: ClaimsServiceParts): Promise<RunningClaims | undefined> {
  const { config, access, store, clock, logger } = parts;
  const { CLAIMS_COLLECTION: collection, CLAIMS_INTERVAL_SECONDS: seconds, PAYOUT_DAILY_LIMIT: limit } = config;
  if (collection === undefined && limit)
    throw new StartError('PAYOUT_DAILY_LIMIT needs CLAIMS_COLLECTION: rewards of claims are what is paid out');
  if (collection === undefined) return undefined;
  if (!access) throw new StartError('CLAIMS_COLLECTION needs GATEWAY_URL: the chain is read through the query gateway');
  const account = await loadSigningAccount(config, { service: 'ussd', key: config.USSD_SIGNING_KEY, logger });
  const gateway = createGatewayClient(access);
  const outbox = createTxOutbox<UssdTables>({
    ...{ store, service: 'ussd', gateway, account, logger },
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
