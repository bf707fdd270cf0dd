import { toShowable } from '@palaver/program/internal';
import type { RunningActions } from '../actions/start-actions.ts';
import type { Catalog } from '../catalog/start-catalog.ts';
import type { Outgoing } from '../outgoing/start-outgoing.ts';
import type { People } from '../people/start-people.ts';
import type { Deployment } from '../store/deployment.ts';
import { createSessionStore } from '../store/session-store.ts';
import { dayMs } from '../store/tables.ts';
import { createActionResults } from './action-results.ts';
import { createCalls } from './handle-request.ts';
import { startProgramStats } from './program-stats.ts';
import { createRunAction } from './run-action.ts';
import { createSessionCache } from './session.ts';
import { type OnExpired, startSweeper, toTimedOut } from './sweeper.ts';

interface CallsParts extends Deployment, People, Outgoing, RunningActions, Catalog {}

export interface Started extends Deployment, People, Outgoing, Catalog, ReturnType<typeof startCalls> {}

const cachedSessions = 100_000;
const sweepIntervalMs = 5_000;

export function startCalls({ config, store, logger, clock, textHash, profiles, started, ...parts }: CallsParts) {
  const timeoutMs = config.SESSION_TIMEOUT_SECONDS * 1000;
  const sessions = createSessionStore(store, { timeoutMs, textHash });
  const cache = createSessionCache(cachedSessions);
  const results = createActionResults(store, { clock, textHash });
  const runAction = createRunAction({ ...parts, results });
  const stats = startProgramStats(store, logger);
  started.defer(() => stats.stop());
  const onExpired: OnExpired = (expired) => stats.countTimedOut(toTimedOut(store.cipher, expired), clock.now());
  const sweeper = startSweeper({
    store,
    cache,
    clock,
    timeoutMs,
    resumeMs: config.RESUME_MINUTES * 60_000,
    retentionMs: config.RETENTION_USSD_HOURS * 3_600_000,
    submissionsMs: toMs(config.RETENTION_SUBMISSIONS_DAYS),
    smsMs: toMs(config.RETENTION_SMS_DAYS),
    recordsMs: toMs(config.RETENTION_RECORDS_DAYS),
    claimsMs: toMs(config.RETENTION_CLAIMS_DAYS),
    statsMs: toMs(config.RETENTION_STATS_DAYS),
    onExpired,
    logger,
    intervalMs: sweepIntervalMs,
  });
  started.defer(() => sweeper.stop());
  const calls = createCalls({
    sessions,
    cache,
    profiles,
    runAction,
    async isResumable({ at, ...own }) {
      const isSame = (await profiles.findResumeAt(own.phone)) === at;
      return (await results.record(own, { outcome: isSame ? 'same' : 'changed' })).outcome === 'same';
    },
    forms: parts.forms,
    programs: parts.programs,
    stats,
    onExpired,
    unknownCode: `END ${toShowable(config.USSD_UNKNOWN_CODE_TEXT)}`,
    clock,
    timeoutMs,
  });
  return {
    timeoutMs,
    sessions,
    stats,
    sweeper,
    ...calls,
    countActive: () => cache.sweep(clock.now() - timeoutMs),
  };
}

/** 0 days mean for ever. */
const toMs = (days: number) => (days === 0 ? undefined : days * dayMs);
