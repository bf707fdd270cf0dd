import { join } from 'node:path';
import { createForms, createOpenRosaClient, startFetching } from '@palaver/forms/internal';
import { toShowable } from '@palaver/program/internal';
import { toGatewayAccess } from '@palaver/protocol/internal';
import { CloseStack, keepOpen, type Logger, StartError } from '@palaver/service-kit';
import { type Store, startDatabaseClock } from '@palaver/store';
import { createAuditLog, type KeyRing, keepAuditHead, toAnchorPath } from '@palaver/store/internal';
import { createAccountActions } from './actions/account-actions.ts';
import type { Actions, DeclaredAction, RunOf } from './actions/action.ts';
import { createAssistantActions } from './actions/assistant-actions.ts';
import { type DefaultAction, defaultSignatures } from './actions/default-signatures.ts';
import type { ProgramServers } from './actions/http-actions.ts';
import { loadOwnActions } from './actions/load-own-actions.ts';
import { createPayoutActions } from './actions/payout-actions.ts';
import { createBuiltInActions } from './actions/perform-keywords.ts';
import { createWalletActions } from './actions/wallet-actions.ts';
import { createActionResults } from './calls/action-results.ts';
import { createHandleRequest } from './calls/handle-request.ts';
import { startProgramStats } from './calls/program-stats.ts';
import { createRunAction } from './calls/run-action.ts';
import { createSessionCache } from './calls/session-cache.ts';
import { startSweeper } from './calls/sweeper.ts';
import { toTimedOut } from './calls/timed-out.ts';
import { toMenuSources, toRegistry, toServed } from './catalog/bundled-menus.ts';
import { createFindUnmetNeeds } from './catalog/deployment-needs.ts';
import { openPrograms } from './catalog/programs.ts';
import { createPublishedPrograms } from './catalog/published.ts';
import { createPublishing } from './catalog/publishing.ts';
import { createProgramVersions } from './catalog/versions.ts';
import { createInputLog } from './channel/input-log.ts';
import type { UssdConfig } from './config.ts';
import type { UssdMetrics } from './metrics.ts';
import { startClaims } from './money/start-claims.ts';
import { createCallers } from './operators/callers.ts';
import { createResults } from './operators/results.ts';
import { createAgentClient, createAgentPerson } from './outgoing/agent-client.ts';
import { createAssistant } from './outgoing/assistant.ts';
import { createMessages, startMessageSender } from './outgoing/messages.ts';
import { createTransportFor } from './outgoing/phone-transport.ts';
import { createQueryClient } from './outgoing/query-client.ts';
import { createQuestions } from './outgoing/questions.ts';
import { startSmppLinks } from './outgoing/smpp-links.ts';
import { toSmsProvider } from './outgoing/sms-provider.ts';
import { createSubmissions, startSender } from './outgoing/submissions.ts';
import { createAccounts } from './people/accounts.ts';
import { createAddressChanges } from './people/address-changes.ts';
import { createCallerReferences } from './people/caller-references.ts';
import { createLinking } from './people/create-linking.ts';
import { createLinks } from './people/links.ts';
import { createPersonData } from './people/person-data.ts';
import { createPinVault } from './people/pin-vault.ts';
import { createProfiles } from './people/profiles.ts';
import { loadServiceSecret, toReferenceKey } from './people/service-secret.ts';
import { createSimSwapCheck } from './people/sim-swap.ts';
import { createRecordStore } from './store/records.ts';
import { createReports } from './store/reports.ts';
import { createRows } from './store/rows.ts';
import { createSessionStore } from './store/session-store.ts';
import type { UssdTables } from './store/tables.ts';
import { createTextHash } from './store/text-hash.ts';

export interface DomainParts {
  config: UssdConfig;
  logger: Logger;
  store: Store<UssdTables>;
  keys: KeyRing;
  metrics: UssdMetrics;
  /** What programs may send in headers, by name. */
  secrets: Readonly<Record<string, string>>;
  servers?: ProgramServers | undefined;
}

const cachedSessions = 100_000;
const sweepIntervalMs = 5_000;

/** Puts the parts of the service together. Everything it starts ends with `close`. */
export async function createDomain(parts: DomainParts) {
  const { config, logger, store, keys, metrics, secrets: programSecrets, servers } = parts;
  await using started = new CloseStack();
  const timeoutMs = config.SESSION_TIMEOUT_SECONDS * 1000;
  const resumeMs = config.RESUME_MINUTES * 60_000;
  const retentionMs = toRetentionMs(config);
  const secret = await loadServiceSecret(store, keys);
  const textHash = createTextHash(secret);
  const clock = await startDatabaseClock(store);
  started.defer(() => clock.stop());
  const audit = createAuditLog(store, {
    service: 'ussd',
    referenceKey: toReferenceKey(secret),
    retentionDays: config.RETENTION_AUDIT_DAYS,
    ...keepAuditHead(toAnchorPath(config.DATA_DIR, 'ussd'), logger),
  });
  started.defer(() => audit.close());
  const accounts = createAccounts(store, { vault: createPinVault(keys), audit, clock });
  const addressChanges = createAddressChanges(store, audit);
  const personData = createPersonData(store, audit, textHash);
  const transportFor = config.AGENT_URL === undefined ? undefined : createTransportFor(config.AGENT_URL, secret);
  const agentPerson = transportFor && createAgentPerson(transportFor);
  const records = createRecordStore(store);
  const reports = createReports(records);
  const questions = createQuestions(store);
  const agent = servers?.agent ?? (transportFor && createAgentClient(transportFor));
  const assistant = agent && createAssistant(agent, questions, config.ASSISTANT_WAIT_MS);
  started.defer(() => assistant?.close());
  const access = toGatewayAccess(config);
  const protocol = access && createQueryClient(access);
  const claiming = await startClaims({ config, access, store, clock, logger });
  started.defer(() => claiming?.stop());
  const profiles = createProfiles(store, {
    defaultLanguage: config.USSD_LANGUAGE,
    resumeMs,
  });
  const simSwap = toSimSwapCheck(config, metrics);
  const links = createLinks({ store, secret, clock });
  const runs: RunOf<DefaultAction> = {
    ...createAccountActions({
      accounts,
      reports,
      profiles,
      protocol,
      claims: claiming?.claims,
      audit,
      simSwap,
      repeatMs: config.USSD_REPEAT_MINUTES * 60_000,
    }),
    ...createWalletActions({ accounts, audit, simSwap, links, protocol }),
    ...createPayoutActions({ accounts, audit, simSwap, payouts: claiming?.payouts }),
    ...createAssistantActions({ assistant, questions, accounts }),
  };
  const own = await loadOwnActions(config.USSD_ACTIONS);
  const actions: Actions = { ...declare(runs), ...own.actions };
  const forms = createForms({ onLoad: metrics.countFormLoad });
  started.defer(() => forms.close());
  const server = toFormsServer(config);
  const fetched =
    server &&
    (await startFetching({
      client: server,
      folder: join(config.DATA_DIR, 'forms-server'),
      refreshMs: config.FORMS_REFRESH_MINUTES * 60_000,
      logger,
      onChange: () => programs.reload(),
    }));
  started.defer(() => fetched?.stop());
  const published = createPublishedPrograms(store);
  const versions = createProgramVersions(store, clock);
  const programs = await openPrograms({
    forms,
    ...(fetched && { fetched: fetched.files }),
    bundled: toMenuSources({}),
    ...toServed(config),
    registry: toRegistry(actions, own.validators),
    ownActions: config.USSD_ACTIONS,
    findUnmetNeeds: createFindUnmetNeeds(config, programSecrets),
    versions,
    published,
    onUse: (menus) => forms.warm([...menus].flatMap((menu) => [...menu.forms.values()])),
    watch: config.USSD_WATCH_MENUS,
    logger,
  });
  started.defer(() => programs.close());
  const readOnly = config.PROGRAMS_READONLY;
  const publishing = createPublishing({ store, programs, published, versions, audit, clock, readOnly });
  if (!programs.current().some(({ locales }) => locales.has(config.USSD_LANGUAGE)))
    throw new StartError(`USSD_LANGUAGE=${config.USSD_LANGUAGE}: there is no such file among the locales`);
  const submissions = createSubmissions(store, { isSent: server !== undefined });
  const sender = server && startSender({ store, cipher: store.cipher, client: server, clock, logger });
  started.defer(() => sender?.stop());
  const smpp = config.SMPP_LINKS.length > 0 ? startSmppLinks(config.SMPP_LINKS, logger) : undefined;
  started.defer(() => smpp?.stop());
  const messages = createMessages(store, { perDay: config.SMS_PER_DAY });
  const messageSender = startMessageSender({
    store,
    provider: toSmsProvider(config, smpp),
    onDone: metrics.countSms,
    clock,
    logger,
  });
  started.defer(() => messageSender.stop());
  const runBuiltIn = createBuiltInActions({
    records,
    messages,
    protocol,
    claims: claiming?.claims,
    askAssistant: runs.askAssistant,
    allowedHosts: config.USSD_HTTP_ALLOWED_HOSTS,
    secrets: programSecrets,
    servers,
  });
  const sessions = createSessionStore(store, { timeoutMs, textHash });
  const cache = createSessionCache(cachedSessions);
  const results = createActionResults(store, { clock, textHash });
  const runAction = createRunAction({ actions, runBuiltIn, submissions, results, metrics });
  const rows = createRows(store);
  const programResults = createResults(rows);
  const stats = startProgramStats(store, logger);
  started.defer(() => stats.stop());
  const sweeper = startSweeper({
    store,
    cache,
    clock,
    timeoutMs,
    resumeMs,
    retentionMs,
    submissionsMs: toMs(config.RETENTION_SUBMISSIONS_DAYS),
    smsMs: toMs(config.RETENTION_SMS_DAYS),
    recordsMs: toMs(config.RETENTION_RECORDS_DAYS),
    claimsMs: toMs(config.RETENTION_CLAIMS_DAYS),
    statsMs: toMs(config.RETENTION_STATS_DAYS),
    onExpired: (expired) => stats.countTimedOut(toTimedOut(store.cipher, expired), clock.now()),
    logger,
    intervalMs: sweepIntervalMs,
  });
  started.defer(() => sweeper.stop());
  return {
    sessions,
    sweeper,
    countActive: () => cache.sweep(clock.now() - timeoutMs),
    accounts,
    addressChanges,
    personData,
    agentPerson,
    rows,
    results: programResults,
    callers: createCallers({ store, accounts, results: programResults, clock }),
    callerReferences: createCallerReferences(keys),
    submissions,
    programs,
    messages,
    smpp,
    publishing,
    store,
    stats,
    claiming,
    linking: { links, ...(await createLinking(secret, access)) },
    audit,
    clock,
    timeoutMs,
    inputLog: createInputLog(store, { keys, clock, textHash }),
    textHash,
    handleRequest: createHandleRequest({
      sessions,
      cache,
      profiles,
      runAction,
      async isResumable({ at, ...own }) {
        const isSame = (await profiles.findResumeAt(own.phone)) === at;
        return (await results.record(own, { outcome: isSame ? 'same' : 'changed' })).outcome === 'same';
      },
      forms,
      programs,
      stats,
      unknownCode: `END ${toShowable(config.USSD_UNKNOWN_CODE_TEXT)}`,
      clock,
      timeoutMs,
    }),
    close: keepOpen(started),
  };
}

const toMs = (days: number) => (days === 0 ? undefined : days * 24 * 3_600_000);

const toRetentionMs = (config: UssdConfig) => config.RETENTION_USSD_HOURS * 3_600_000;

function toFormsServer(config: UssdConfig) {
  const { FORMS_SERVER: server, FORMS_SERVER_USER: user, FORMS_SERVER_PASSWORD: password = '' } = config;
  if (server === undefined) return undefined;
  return createOpenRosaClient({ server, credentials: user === undefined ? undefined : { user, password } });
}

function toSimSwapCheck(config: UssdConfig, metrics: UssdMetrics) {
  if (config.USSD_SIM_SWAP_URL === undefined) return undefined;
  return createSimSwapCheck({
    url: config.USSD_SIM_SWAP_URL,
    token: config.USSD_SIM_SWAP_TOKEN,
    maxAgeHours: config.USSD_SIM_SWAP_MAX_AGE_HOURS,
    onFault: config.USSD_SIM_SWAP_ON_FAULT,
    count: metrics.countSimSwapCheck,
  });
}

function declare(runs: RunOf<DefaultAction>): Actions {
  const entries = Object.entries(defaultSignatures) as [DefaultAction, DeclaredAction][];
  return Object.fromEntries(
    entries.map(([name, signature]) => [name, { repeatable: true, ...signature, run: runs[name] }]),
  );
}
