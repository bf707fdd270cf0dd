import { type CompiledQuery, PostgresDialect, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { bindValue } from './bind-value.ts';
import type { EngineConnection, StoreOptions } from './store.ts';
import { messageOf, StoreError } from './store-error.ts';

const networkGraceMs = 2_000;

export async function openPostgres(url: string, options: StoreOptions): Promise<EngineConnection> {
  const target = describeTarget(url);
  const statementTimeoutMs = options.statementTimeoutMs ?? 10_000;
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'palaver',
    max: options.poolSize ?? 10,
    connectionTimeoutMillis: options.waitMs ?? 10_000,
    statement_timeout: statementTimeoutMs,
    // For a server that cannot even say so any more (power, network): TCP itself would wait a quarter of an hour.
    query_timeout: statementTimeoutMs + networkGraceMs,
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    types: { getTypeParser },
  });
  // Without listeners a connection that breaks, idle or between two queries of a transaction, would end the process.
  // Nothing is lost by ignoring it here: the next query on it fails, and `ping` tells.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  try {
    await pool.query('select 1');
  } catch (error) {
    await pool.end();
    throw new StoreError('unreachable', `cannot use PostgreSQL at ${target}: ${messageOf(error)}`, error);
  }
  const preparedNames = new Map<string, string>();
  return {
    dialect: new PostgresDialect({ pool: bindingPool(pool, preparedNames) }),
    ping: async () => (await pool.query('select 1')).rowCount === 1,
    // Serialization failure, deadlock: the transaction was undone whole and may run again.
    isRetryable: (error) => error instanceof pg.DatabaseError && (error.code === '40001' || error.code === '40P01'),
    onPrepare({ sql }: CompiledQuery) {
      if (!preparedNames.has(sql)) preparedNames.set(sql, `palaver_${preparedNames.size}`);
    },
  };
}

/** Host, port and database; never the password. */
function describeTarget(url: string): string {
  if (!URL.canParse(url)) {
    throw new StoreError(
      'bad-url',
      'the database address is malformed; expected postgres://user:password@host:5432/name',
    );
  }
  const { hostname, port, pathname } = new URL(url);
  return `${hostname || 'localhost'}:${port || 5432}${pathname}`;
}

/** 64-bit integers and sums are numbers, as SQLite gives them; one that a number cannot hold is an error, as there. */
function getTypeParser(oid: number, format?: 'text' | 'binary'): (text: string) => unknown {
  if (oid === pg.types.builtins.INT8) return toSafeInteger;
  if (oid === pg.types.builtins.NUMERIC) return Number;
  return pg.types.getTypeParser(oid, format as 'text');
}

function toSafeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`the stored integer ${text} is too large for a number`);
  return value;
}

/** The pool as Kysely's driver sees it: parameters are bound as on SQLite, prepared texts go out under their name. */
function bindingPool(pool: pg.Pool, preparedNames: ReadonlyMap<string, string>) {
  const seen = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  const wrap = (client: pg.PoolClient): PostgresPoolClient => {
    let broken = false;
    const query = (text: string, parameters: readonly unknown[]) =>
      client
        .query({ text, values: parameters.map(bindValue), name: preparedNames.get(text) })
        .catch((error: unknown) => {
          broken ||= !(error instanceof pg.DatabaseError);
          throw error;
        });
    return {
      query: query as unknown as PostgresPoolClient['query'],
      // A connection whose answer never came must not go back to the pool: the next query would wait behind it.
      release: (destroy) => client.release(destroy || broken),
    };
  };
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect(): Promise<PostgresPoolClient> {
      const client = await pool.connect();
      const wrapped = seen.get(client) ?? wrap(client);
      seen.set(client, wrapped);
      return wrapped;
    },
  };
}
