import type { Logger } from '@palaver/service-kit';
import { runEvery } from '@palaver/service-kit/internal';
import type { DataCipher } from '@palaver/store';
import { changePieces } from '@palaver/store/internal';
import { sql } from 'kysely';
import { type SweepPeriods, toSweepStatements } from '../store/sweep-statements.ts';
import { type Clock, type SessionTable, sealedTables, type UssdStore } from '../store/tables.ts';
import { questionOf, type TimedOut } from './program-stats.ts';
import { type SessionCache, unpackDialogue, unpackOpening } from './session.ts';

type ExpiredSession = Pick<SessionTable, 'id' | 'opening' | 'dialogue'>;
export type OnExpired = (sessions: readonly ExpiredSession[]) => void;

interface SweepParts extends SweepPeriods {
  store: UssdStore;
  cache: SessionCache;
  onExpired?: OnExpired;
  /** Rows of one transaction: few, so that no request waits long for a sweep. */
  batchSize?: number;
  /** A sweep that takes longer stops, and the next one continues. */
  budgetMs?: number;
}

/** `done`: nothing is left; `busy`: another instance sweeps; `late`: the time ran out. */
type SweepResult = 'done' | 'busy' | 'late';

/** The key of an advisory lock: instances that share a PostgreSQL database sweep one at a time. */
const advisoryLock = 7_252_838;

/** Marks expired sessions and removes what has been kept long enough. Every look-up is exact without it. */
export async function sweep(parts: SweepParts, now: number, signal?: AbortSignal): Promise<SweepResult> {
  const { store, cache, onExpired, batchSize = 1_000, budgetMs = 4_000, ...periods } = parts;
  cache.sweep(now - periods.timeoutMs);
  const endsAt = performance.now() + budgetMs;
  const limits = { ...periods, engine: store.engine, now, batchSize };
  for (const statement of toSweepStatements(limits)) {
    let ended: SweepResult = 'done';
    const changeSome = async () => {
      if (signal?.aborted || performance.now() > endsAt) {
        ended = 'late';
        return 0;
      }
      const result = await store.transaction(
        async (trx) => {
          if (store.engine === 'postgres') {
            // For one transaction only: a lock of the connection would not survive PgBouncer.
            const lock = sql<{ taken: boolean }>`select pg_try_advisory_xact_lock(${sql.lit(advisoryLock)}) as taken`;
            if (!(await lock.execute(trx)).rows[0]?.taken) return undefined;
          }
          return statement.execute(trx);
        },
        { isolation: 'read committed' },
      );
      if (result === undefined) {
        ended = 'busy';
        return 0;
      }
      const { rows, numAffectedRows } = result;
      // Only the statement that marks sessions returns rows.
      if (rows.length > 0) onExpired?.(rows as ExpiredSession[]);
      return Number(numAffectedRows ?? rows.length);
    };
    await changePieces(changeSome, { size: batchSize });
    if (ended !== 'done') return ended;
  }
  return 'done';
}

interface SweeperParts extends SweepParts {
  logger: Logger;
  clock: Clock;
  intervalMs: number;
}

export function startSweeper(parts: SweeperParts) {
  let doneAt = performance.now();
  const stopping = new AbortController();
  const sweeping = runEvery({
    everyMs: parts.intervalMs,
    async work() {
      if ((await sweep(parts, parts.clock.now(), stopping.signal)) !== 'late') doneAt = performance.now();
    },
    onFault: (error) => parts.logger.warn({ err: error }, 'sweeping sessions failed'),
  });
  return {
    /** Seconds since a sweep, here or on another instance, last left nothing behind. */
    lagSeconds: () => (performance.now() - doneAt) / 1000,
    async stop() {
      stopping.abort();
      await sweeping.stop();
    },
  };
}

const unreadable = { opening: '{}', dialogue: '{"f":1e9}' };

export function toTimedOut(cipher: DataCipher, expired: readonly ExpiredSession[]): TimedOut[] {
  return expired.flatMap((row) => {
    const { opening, dialogue: packed } = cipher.openRow(sealedTables.session, row, unreadable);
    const { program: version } = unpackOpening(opening);
    const dialogue = unpackDialogue(packed);
    if (version === undefined || !dialogue) return [];
    const { language, state } = dialogue;
    const question = questionOf(dialogue);
    return [{ version, state, language }, ...(question === undefined ? [] : [{ version, state: question, language }])];
  });
}
