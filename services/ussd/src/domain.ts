import { join } from 'node:path';
import { toGatewayAccess } from '@palaver/protocol/internal';
import { CloseStack, keepOpen, type Logger, StartError } from '@palaver/service-kit';
import { type Store, startDatabaseClock } from '@palaver/store';
import { createAuditLog, type KeyRing, keepAuditHead, toAnchorPath } from '@palaver/store/internal';
import { createAccounts } from './accounts/accounts.ts';
import { createAddressChanges } from './accounts/address-changes.ts';
import { createPersonData } from './accounts/person-data.ts';
import { createPinVault } from './accounts/pin-vault.ts';
import { loadServiceSecret, toReferenceKey } from './accounts/service-secret.ts';
import { createSimSwapCheck } from './accounts/sim-swap.ts';
import { createAccountActions } from './actions/account-actions.ts';
import type { Actions, DeclaredAction, RunOf } from './actions/action.ts';
import { createAssistantActions } from './actions/assistant-actions.ts';
import { createBuiltInActions } from './actions/built-in-actions.ts';
import { toMenuSources, toRegistry, toServed } from './actions/default-menu.ts';
import { type DefaultAction, defaultSignatures } from './actions/default-signatures.ts';
import type { ProgramServers } from './actions/http-actions.ts';
import { loadOwnActions } from './actions/load-own-actions.ts';
import { createPayoutActions } from './actions/payout-actions.ts';
import { createWalletActions } from './actions/wallet-actions.ts';
import { createInputLog } from './adapters/input-log.ts';
import { createAgentClient } from './assistant/agent-client.ts';
import { createAgentPerson } from './assistant/agent-person.ts';
import { createAssistant } from './assistant/assistant.ts';
import { createTransportFor } from './assistant/phone-transport.ts';
import { createQuestions } from './assistant/questions.ts';
import { createCallerReferences } from './callers/caller-references.ts';
import { createCallers } from './callers/callers.ts';
import { startClaims } from './claims/start-claims.ts';
import type { UssdConfig } from './config.ts';
import { createForms } from './forms/forms.ts';
import { toShowable } from './gsm.ts';
import type { UssdMetrics } from './metrics.ts';
import { startFetching } from './openrosa/fetch-forms.ts';
import { createOpenRosaClient } from './openrosa/openrosa-client.ts';
import { startSender } from './openrosa/send-submissions.ts';
import { createFindUnmetNeeds } from './programs/deployment-needs.ts';
import { openPrograms } from './programs/programs.ts';
import { createPublishedPrograms } from './programs/published.ts';
import { createPublishing } from './programs/publishing.ts';
import { createProgramVersions } from './programs/versions.ts';
import { createQueryClient } from './protocol/query-client.ts';
import { createRecordStore } from './records/records.ts';
import { createReports } from './reports/reports.ts';
import { createResults } from './results/results.ts';
import { createActionResults } from './session/action-results.ts';
import { createHandleRequest } from './session/handle-request.ts';
import { createProfiles } from './session/profiles.ts';
import { createRunAction } from './session/run-action.ts';
import { createSessionCache } from './session/session-cache.ts';
import { createSessionStore } from './session/session-store.ts';
import { startSweeper } from './session/sweeper.ts';
import { createTextHash } from './session/text-hash.ts';
import { createMessages, startMessageSender } from './sms/messages.ts';
import { toSmsProvider } from './sms/to-provider.ts';
import { startProgramStats } from './stats/program-stats.ts';
import { toTimedOut } from './stats/timed-out.ts';
import type { UssdTables } from './store/tables.ts';
import { createSubmissions } from './submissions/submissions.ts';
import { createLinking } from './wallet/create-linking.ts';
import { createLinks } from './wallet/links.ts';

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
  const personData = createPersonData(store, audit);
  const transportFor = config.AGENT_URL === undefined ? undefined : createTransportFor(config.AGENT_URL, secret);
  const agentPerson = transportFor && createAgentPerson(transportFor);
  const reports = createReports(store);
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
  const records = createRecordStore(store);
  const submissions = createSubmissions(store, { isSent: server !== undefined });
  const sender = server && startSender({ store, cipher: store.cipher, client: server, clock, logger });
  started.defer(() => sender?.stop());
  const messages = createMessages(store, { perDay: config.SMS_PER_DAY });
  const messageSender = startMessageSender({
    store,
    provider: toSmsProvider(config),
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
  const sessions = createSessionStore(store, { timeoutMs });
  const cache = createSessionCache(cachedSessions);
  const results = createActionResults(store, clock);
  const runAction = createRunAction({ actions, runBuiltIn, submissions, results, metrics });
  const programResults = createResults(store);
  const textHash = createTextHash(secret);
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
    reports,
    results: programResults,
    callers: createCallers({ store, accounts, results: programResults, clock }),
    callerReferences: createCallerReferences(keys),
    records,
    submissions,
    programs,
    messages,
    publishing,
    store,
    stats,
    claiming,
    linking: { links, ...(await createLinking(secret, access)) },
    audit,
    clock,
    timeoutMs,
    inputLog: createInputLog(store, { keys, clock }),
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
      textHash,
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
    entries.map(([name, signature]) => [name, { ...signature, repeatable: true, run: runs[name] }]),
  );
}
