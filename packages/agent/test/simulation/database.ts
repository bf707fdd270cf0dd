import { DatabaseSync } from 'node:sqlite';
import type { Store } from '@palaver/store';
import { StoreError } from '@palaver/store';
import { auditMigrations } from '@palaver/store/internal';
import {
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type Transaction,
} from 'kysely';
import { createDataCipher } from '../../../store/src/cipher/data-cipher.ts';
import { createGroupWriter } from '../../../store/src/group-writer.ts';
import { migrate } from '../../../store/src/migrate.ts';
import { createPrepareQuery } from '../../../store/src/prepare-query.ts';
import type { RunTransaction } from '../../../store/src/run-transaction.ts';
import { createSqliteDialect, QueueingAdapter } from '../../../store/src/sqlite-dialect.ts';
import { agentMigrations } from '../../src/store/migrations.ts';
import type { AgentDatabase } from '../../src/store/schema.ts';
import type { World } from './world.ts';

/** What becomes of a query or a transaction. */
export const faultKinds = ['fine', 'slow', 'fails', 'reply lost', 'commits later'] as const;
export type FaultKind = (typeof faultKinds)[number];

export type Database = Awaited<ReturnType<typeof createDatabase>>;

/** What a seed decides about the database. */
export interface Disturbance {
  world: World;
  /** Asked for every query outside of a transaction, which is given, and for every transaction. */
  chooseFault(query: string | undefined): FaultKind;
  /** After whatever may have changed something. */
  onCommit(what: string, fault: FaultKind): void;
}

const unreachable = () => new StoreError('unreachable', 'the simulated database did not answer');

/**
 * The real SQLite in memory, with the real statements of the store. Each query outside of a transaction, and each transaction,
 * is one step of the world: its request and its reply take their time, and either may be lost.
 */
export async function createDatabase() {
  const sqlite = new DatabaseSync(':memory:', { enableForeignKeyConstraints: true });
  let disturbance: Disturbance | undefined;
  const plain = new Kysely<AgentDatabase>({
    dialect: createSqliteDialect(sqlite, { waitMs: 1, isInPlace: () => true }).dialect,
  });
  const plainly: RunTransaction<AgentDatabase> = (fn) => plain.transaction().execute(fn);
  for (const [component, migrations] of [
    ['audit', auditMigrations],
    ['agent', agentMigrations],
  ] as const)
    await migrate({ transaction: plainly, db: plain, engine: 'sqlite', component, migrations });
  sqlite.function('unixepoch', { varargs: true }, () => (disturbance?.world.now() ?? 0) / 1000);
  const tables = sqlite
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite%'")
    .all();
  const erase = tables
    .filter(({ name }) => !/migration/.test(String(name)))
    .map(({ name }) => `delete from ${name};`)
    .join('');

  /** The statements since the last step. */
  let statements: string[] = [];
  async function step<T>(work: () => Promise<T>, query?: string): Promise<T> {
    if (!disturbance) return work();
    const { world, chooseFault, onCommit } = disturbance;
    const fault = chooseFault(query);
    const process = world.process();
    const isCutOff = () => (process?.cutOffUntil ?? 0) > world.now();
    if (fault === 'commits later') {
      // By nobody: whoever sent it may be dead by then.
      world.after(world.between(100, 15_000), () => void commit(work).catch(() => {}), null);
      await world.wait(world.latency());
      throw unreachable();
    }
    await world.wait(world.latency());
    if (isCutOff() || fault === 'fails') {
      onCommit('', 'fails');
      await world.wait(world.between(0, 3_000));
      throw unreachable();
    }
    const outcome = await commit(work).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    await world.wait(fault === 'slow' ? world.between(500, 20_000) : world.latency());
    if (isCutOff() || fault === 'reply lost') {
      await world.wait(world.between(0, 3_000));
      throw unreachable();
    }
    if ('error' in outcome) throw outcome.error;
    return outcome.value;

    async function commit(part: () => Promise<T>): Promise<T> {
      statements = [];
      try {
        return await world.within(process, part);
      } finally {
        world.within(process, () => onCommit(describe(statements), fault));
      }
    }
  }

  const execute = createSqliteDialect(sqlite, { waitMs: 1, isInPlace: () => true }).dialect.createDriver();
  const inner = await execute.acquireConnection();
  let isInTransaction = false;
  const connection: DatabaseConnection = {
    ...inner,
    streamQuery: inner.streamQuery,
    executeQuery(query) {
      const run = () => {
        statements.push(query.sql);
        return inner.executeQuery<never>(query);
      };
      return isInTransaction ? run() : step(run, query.sql);
    },
  };
  const driver: Driver = {
    async init() {},
    acquireConnection: async () => connection,
    async beginTransaction() {
      if (isInTransaction) throw new Error('a transaction is open while another begins');
      sqlite.exec('begin immediate');
      isInTransaction = true;
    },
    async commitTransaction() {
      sqlite.exec('commit');
      isInTransaction = false;
    },
    async rollbackTransaction() {
      sqlite.exec('rollback');
      isInTransaction = false;
    },
    async releaseConnection() {},
    async destroy() {},
  };
  const dialect: Dialect = {
    createDriver: () => driver,
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new QueueingAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
  const db = new Kysely<AgentDatabase>({ dialect });
  const transaction: RunTransaction<AgentDatabase> = (fn) => step(() => db.transaction().execute(fn));
  const compiled: unknown[] = [];

  return {
    sqlite,
    /** Between two seeds. */
    erase(next: Disturbance | undefined): void {
      disturbance = undefined;
      if (isInTransaction) {
        sqlite.exec('rollback');
        isInTransaction = false;
      }
      sqlite.exec(`pragma foreign_keys = off; ${erase} pragma foreign_keys = on`);
      disturbance = next;
    },
    isInTransaction: () => isInTransaction,
    /** A store of one process. */
    openStore(): Store<AgentDatabase> {
      const prepare = createPrepareQuery(db);
      let prepared = 0;
      return {
        engine: 'sqlite',
        db,
        readDb: db,
        cipher: createDataCipher(),
        transaction,
        // Every process prepares the same queries in the same order: compiled once, they are much of the time of a seed.
        prepare: ((build: never) => {
          const at = prepared++;
          compiled[at] ??= prepare(build);
          return compiled[at];
        }) as typeof prepare,
        async migrate() {},
        createGroupWriter: (options) =>
          createGroupWriter<AgentDatabase, never, never>(
            options.singleStatement ? (fn) => fn(db as Transaction<AgentDatabase>) : transaction,
            options as never,
          ) as never,
        stats: () => ({ waiting: 0, slow: 0 }),
        ping: async () => true,
        isLocked: async () => false,
        async close() {},
      };
    },
  };
}

const marks: [RegExp, string][] = [
  [/insert into agent_run/, 'begin'],
  [/update agent_run set aborting = 1 where session_id/, 'replace'],
  [/update agent_run set aborting = 1/, 'abort'],
  [/update agent_run set instance = '' /, 'release'],
  [/update agent_run set instance/, 'claim'],
  [/update agent_run set status = 'running', active/, 'start'],
  [/update agent_run set status = 'waiting'/, 'ask'],
  [/update agent_run set status = 'running', changed_at/, 'resume'],
  [/update agent_run set status = case aborting when 1 then 'aborted' else 'complete'/, 'complete'],
  [/update agent_run set status = case aborting when 1 then 'aborted' else 'failed'/, 'fail'],
  [/update agent_run set status = case aborting when 1 then 'aborted' else 'aborted'/, 'stop'],
  [/insert into agent_step/, 'step'],
  [/update agent_step/, 'outcomes'],
  [/insert into agent_frame/, 'frames'],
];

/** The transitions that a step has tried, or what else it has done. */
function describe(statements: string[]): string {
  const text = statements.map((statement) => statement.replace(/\s+/g, ' ').replaceAll('"', ''));
  const found = marks.filter(([mark]) => text.some((statement) => mark.test(statement))).map(([, name]) => name);
  const main = found.filter((name, _, all) => all.length === 1 || !['frames'].includes(name));
  if (main.length > 0) return main.includes('ask') ? 'ask' : main.join('+');
  return text[0]?.replace(/^(select|insert into|update|delete from).*?(agent_\w+|palaver_\w+).*/, '$1 $2') ?? '';
}
