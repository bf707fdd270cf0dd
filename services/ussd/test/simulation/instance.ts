import { ussdReplies } from '@palaver/contract/internal';
import type { Menu } from '@palaver/program/internal';
import { createTxOutbox } from '@palaver/protocol';
import { CloseStack, createLogger } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import { startDatabaseClock } from '@palaver/store';
import { createAuditLog } from '@palaver/store/internal';
import type { Database } from '../../../../packages/store/test/simulation/database.ts';
import type { Instance } from '../../../../packages/store/test/simulation/instances.ts';
import type { Process, World } from '../../../../packages/store/test/simulation/world.ts';
import { createAccountActions } from '../../src/actions/account-actions.ts';
import type { Actions, DeclaredAction, RunOf } from '../../src/actions/action.ts';
import { createAssistantActions } from '../../src/actions/assistant-actions.ts';
import { type DefaultAction, defaultSignatures } from '../../src/actions/default-signatures.ts';
import { createBuiltInActions } from '../../src/actions/perform-keywords.ts';
import { createPayoutActions, createWalletActions } from '../../src/actions/wallet-actions.ts';
import { createActionResults } from '../../src/calls/action-results.ts';
import type { RequestKind } from '../../src/calls/call.ts';
import { createCalls } from '../../src/calls/handle-request.ts';
import { createRunAction } from '../../src/calls/run-action.ts';
import { createSessionCache } from '../../src/calls/session.ts';
import { startSweeper } from '../../src/calls/sweeper.ts';
import { UssdCall, type UssdRequest } from '../../src/channel/ussd-call.ts';
import { createClaims, onClaimSettled } from '../../src/money/claims.ts';
import { createPayouts, onPayoutSettled } from '../../src/money/payouts.ts';
import { createQuestions } from '../../src/outgoing/assistant.ts';
import { createMessages, startMessageSender } from '../../src/outgoing/messages.ts';
import type { SmsProvider } from '../../src/outgoing/sms-provider.ts';
import { createSubmissions } from '../../src/outgoing/submissions.ts';
import { createAccounts } from '../../src/people/accounts.ts';
import { createLinks } from '../../src/people/links.ts';
import type { PinVault } from '../../src/people/pin-vault.ts';
import { createProfiles } from '../../src/people/profiles.ts';
import { createRecordStore, createReports } from '../../src/store/records.ts';
import { createSessionStore } from '../../src/store/session-store.ts';
import type { UssdTables } from '../../src/store/tables.ts';
import { createTextHash } from '../../src/store/text-hash.ts';
import { account, agentDid, type Chain, collectionId, denom } from './chain.ts';
import { loadMenu, paymentHost } from './program.ts';

export interface UssdInstance extends Instance {
  /** One request of a telecom gateway, as the channel answers it. */
  answer(request: UssdRequest): Promise<{ reply: string; kind: RequestKind | 'failed' }>;
  setAddress(phone: string, address: string): Promise<boolean>;
}

/** The servers that callers reach through the service. */
export interface Outside {
  chain: Chain;
  sms: SmsProvider;
  /** What a payment of a program is answered; its key is the same for each try. */
  pay(key: string, sum: number): Promise<{ status: number; body: string } | { fault: string }>;
}

export const timeoutMs = 180_000;
const logger = createLogger({ name: 'simulation', level: 'silent' });
const secret = Buffer.alloc(32, 7);
const textHash = createTextHash(secret);
const dayMs = 86_400_000;
/** Hashing PINs takes a thread. */
const vault: PinVault = {
  create: async (pin, id) => `${id} ${pin}`,
  verify: async (pin, record, id) => record === `${id} ${pin}`,
  isSame: (record, other) => record === other,
  reseal: (record) => record,
};

export const menu: Menu = await loadMenu(declare({} as RunOf<DefaultAction>));

function declare(runs: RunOf<DefaultAction>): Actions {
  const entries = Object.entries(defaultSignatures) as [DefaultAction, DeclaredAction][];
  return Object.fromEntries(
    entries.map(([name, signature]) => [name, { repeatable: true, ...signature, run: runs[name] }]),
  );
}

/** One process of the service: the real parts, put together as `domain.ts` does, without threads, files and sockets. */
export async function startInstance(
  { database, outside }: { world: World; database: Database<UssdTables>; outside: Outside },
  process: Process,
): Promise<UssdInstance> {
  const started = new CloseStack();
  const store = database.openStore();
  const clock = await startDatabaseClock(store);
  const audit = createAuditLog(store, { service: 'ussd', referenceKey: secret, retentionDays: 0 });
  started.defer(() => audit.close());
  const accounts = createAccounts(store, { vault, audit, clock });
  const reports = createReports(createRecordStore(store));
  const questions = createQuestions(store);
  const { chain } = outside;
  const outbox = createTxOutbox<UssdTables>({
    store,
    service: 'ussd',
    gateway: chain.gateway,
    account,
    logger,
    async onSettled(trx, row, outcome) {
      await onClaimSettled(trx, row, outcome);
      await onPayoutSettled(trx, row, outcome);
    },
  });
  const claims = createClaims({
    store,
    outbox,
    gateway: chain.gateway,
    collection: collectionId,
    agentDid,
    clock,
    logger,
  });
  const processing = runEvery({ everyMs: 5_000, work: claims.process, onFault() {} });
  started.defer(() => processing.stop());
  const payouts = createPayouts({ store, outbox, limit: { denom, amount: '100000000' } });
  const profiles = createProfiles(store, { defaultLanguage: 'en', resumeMs: 3_600_000 });
  const none = { protocol: undefined, simSwap: undefined };
  const links = createLinks({ store, secret, clock });
  const runs: RunOf<DefaultAction> = {
    ...createAccountActions({ ...none, accounts, reports, profiles, claims, audit, repeatMs: 0 }),
    ...createWalletActions({ ...none, accounts, audit, links }),
    ...createPayoutActions({ ...none, accounts, audit, payouts }),
    ...createAssistantActions({ assistant: undefined, questions, accounts }),
  };
  const messages = createMessages(store, { perDay: 100 });
  const sender = startMessageSender({ store, provider: outside.sms, clock, logger, intervalMs: 4_000 });
  started.defer(() => sender.stop());
  const runBuiltIn = createBuiltInActions({
    records: createRecordStore(store),
    messages,
    claims,
    protocol: undefined,
    askAssistant: runs.askAssistant,
    allowedHosts: [paymentHost],
    secrets: {},
    servers: {
      ask: ({ headers, body = '{}' }) => outside.pay(headers['idempotency-key'] ?? '', Number(JSON.parse(body).sum)),
    },
  });
  const cache = createSessionCache(1_000);
  const results = createActionResults(store, { clock, textHash });
  const sweeper = startSweeper({
    store,
    cache,
    clock,
    timeoutMs,
    resumeMs: 3_600_000,
    retentionMs: dayMs,
    logger,
    intervalMs: 15_000,
  });
  started.defer(() => sweeper.stop());
  const { handleRequest } = createCalls({
    sessions: createSessionStore(store, { timeoutMs, textHash }),
    cache,
    profiles,
    clock,
    timeoutMs,
    unknownCode: 'END',
    runAction: createRunAction({
      ...{ actions: declare(runs), runBuiltIn, results, metrics: { countActionFailure() {} } },
      submissions: createSubmissions(store, { isSent: false }),
    }),
    async isResumable({ at, ...own }) {
      const isSame = (await profiles.findResumeAt(own.phone)) === at;
      return (await results.record(own, { outcome: isSame ? 'same' : 'changed' })).outcome === 'same';
    },
    forms: { press: () => Promise.reject(new Error('there are no forms')) },
    programs: { forCode: () => menu, find: () => menu },
    stats: { count() {} },
    onExpired() {},
  });
  const operator = { actor: 'operator', from: 'simulation' } as never;
  return {
    process,
    async answer(request) {
      try {
        const result = await handleRequest(new UssdCall(request, textHash), logger);
        if ('invalid' in result) throw new Error(result.invalid);
        return result;
      } catch {
        return { reply: ussdReplies.unavailable, kind: 'failed' };
      }
    },
    setAddress: (phone, address) => accounts.setAddress(phone, address, operator),
    close: () => started[Symbol.asyncDispose](),
  };
}
