import { createHash } from 'node:crypto';
import { type CompiledQuery, PostgresDialect, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { bindValue } from './prepare-query.ts';
import type { EngineConnection, StoreOptions } from './store.ts';
import { faultKind, messageOf, StoreError } from './store-error.ts';

const networkGraceMs = 2_000;

/** Uses the first host that it can. With `fallback` it is for reading: any host will do, those of `fallback` last. */
export async function openPostgres(url: string, options: StoreOptions, fallback?: string): Promise<EngineConnection> {
  const hosts = parsePostgresUrl(url);
  if (fallback !== undefined) {
    hosts.urls.push(...parsePostgresUrl(fallback).urls);
    hosts.writable = false;
  }
  const open = async (pooler: boolean) => {
    const pools = createPools(hosts, options, pooler);
    try {
      (await pools.connect()).release();
      return pools;
    } catch (error) {
      await pools.end();
      throw error;
    }
  };
  const naming: Naming = { isPooler: options.pooler === 'transaction', names: new Map() };
  let pools: Pools;
  try {
    pools = await open(naming.isPooler).catch((error) => {
      if (options.pooler === 'none' || naming.isPooler || !isStartupRefusal(error)) throw error;
      naming.isPooler = true;
      return open(true);
    });
  } catch (error) {
    throw new StoreError('unreachable', `cannot use PostgreSQL at ${hosts.target}: ${messageOf(error)}`, error);
  }
  return {
    dialect: new PostgresDialect({ pool: bindingPool(pools, naming) }),
    ping: async () => {
      const client = await pools.connect();
      try {
        return (await client.query('select 1')).rowCount === 1;
      } finally {
        client.release();
      }
    },
    // Serialization failure or deadlock: the transaction was undone whole and may run again, also after it met a pooler.
    isRetryable: (error) =>
      error instanceof pg.DatabaseError && (error.code === '40001' || error.code === '40P01' || isNameFault(error)),
    onPrepare({ sql }: CompiledQuery) {
      // Named by its text: behind a pooler two programs may share a connection, and a name must mean one statement.
      if (!naming.names.has(sql))
        naming.names.set(sql, `palaver_${createHash('sha256').update(sql).digest('hex').slice(0, 24)}`);
    },
    waiting: pools.waiting,
  };
}

/** One pool for each host. The host that served last is used while it can be. */
function createPools({ urls, writable }: PostgresHosts, options: StoreOptions, pooler: boolean) {
  const statementTimeoutMs = options.statementTimeoutMs ?? 10_000;
  // A pooler in transaction mode refuses session parameters; the limit on this side still holds.
  const session = pooler
    ? { query_timeout: statementTimeoutMs }
    : {
        statement_timeout: statementTimeoutMs,
        // For a server that lost power or network: TCP alone would wait a quarter of an hour.
        query_timeout: statementTimeoutMs + networkGraceMs,
        idle_in_transaction_session_timeout: 60_000,
      };
  const pools = urls.map((connectionString) => {
    const pool = new pg.Pool({
      connectionString,
      application_name: 'palaver',
      max: options.poolSize ?? 10,
      connectionTimeoutMillis: Math.ceil((options.waitMs ?? 10_000) / urls.length),
      keepAlive: true,
      types: { getTypeParser },
      ...session,
      ...(writable && { onConnect: refuseStandby }),
    });
    // Without a listener a broken connection would end the process. Its next query fails anyway, and so does `ping`.
    pool.on('error', () => {});
    pool.on('connect', (client) => client.on('error', () => {}));
    return pool;
  });
  let current = 0;
  return {
    async connect(): Promise<pg.PoolClient> {
      let first: unknown;
      for (let tried = 0; tried < pools.length; tried++) {
        const index = (current + tried) % pools.length;
        try {
          const client = await (pools[index] as pg.Pool).connect();
          current = index;
          return client;
        } catch (error) {
          first ??= error;
          if (faultKind(error) === undefined) throw error;
        }
      }
      throw first;
    },
    end: async () => void (await Promise.all(pools.map((pool) => pool.end()))),
    waiting: () => pools.reduce((sum, pool) => sum + pool.waitingCount, 0),
  };
}

type Pools = ReturnType<typeof createPools>;

async function refuseStandby(client: {
  query(text: string): Promise<{ rows: { standby?: boolean }[] }>;
}): Promise<void> {
  const { rows } = await client.query(
    "select pg_is_in_recovery() or current_setting('default_transaction_read_only') = 'on' as standby",
  );
  if (rows[0]?.standby) throw new StoreError('unreachable', 'the host is a standby and takes no writes');
}

function isStartupRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '08P01' && error.message.includes('startup parameter');
}

/** A named statement that is missing, or already there: the connection behind a pooler changes. */
function isNameFault(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === '26000' || error.code === '42P05');
}

/** 64-bit integers and sums are numbers, as on SQLite; one that a number cannot hold is an error there too. */
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

interface Naming {
  isPooler: boolean;
  /** Of prepared statements, by their texts. */
  names: Map<string, string>;
}

/** For Kysely's driver: parameters are bound as on SQLite, prepared texts are sent under their name. */
function bindingPool(pools: Pools, naming: Naming) {
  const seen = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  const wrap = (client: pg.PoolClient): PostgresPoolClient => {
    let broken = false;
    let inTransaction = false;
    const query = async (text: string, parameters: readonly unknown[]) => {
      const values = parameters.map(bindValue);
      const name = naming.isPooler ? undefined : naming.names.get(text);
      if (/^(begin|start transaction)/i.test(text)) inTransaction = true;
      else if (/^(commit|rollback)$/i.test(text)) inTransaction = false;
      try {
        return await client.query({ text, values, name });
      } catch (error) {
        if (name !== undefined && isNameFault(error)) {
          naming.isPooler = true;
          if (!inTransaction) return client.query({ text, values });
        }
        broken ||= !(error instanceof pg.DatabaseError) || isDemoted(error);
        throw error;
      }
    };
    return {
      query: query as unknown as PostgresPoolClient['query'],
      // A connection whose answer never came must not go back to the pool: the next query would wait behind it.
      release: (destroy) => client.release(destroy || broken),
    };
  };
  return {
    options: {},
    end: () => pools.end(),
    async connect(): Promise<PostgresPoolClient> {
      const client = await pools.connect();
      const wrapped = seen.get(client) ?? wrap(client);
      seen.set(client, wrapped);
      return wrapped;
    },
  };
}

/** A primary that became a standby or is shutting down: the next connection looks for another host. */
function isDemoted({ code = '' }: pg.DatabaseError): boolean {
  return code === '25006' || code.startsWith('57P');
}

type PostgresHosts = ReturnType<typeof parsePostgresUrl>;

const pattern = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/;

// `postgres://…@a:5432,b:5432/name`: the first that takes writes, or with `target_session_attrs=any` that answers.
export function parsePostgresUrl(url: string) {
  const [, login = '', hosts = '', rest = ''] = pattern.exec(url) ?? [];
  const names = hosts.split(',');
  const urls = names.map((host) => `${login}${host}${rest}`);
  if (login === '' || !urls.every((one) => URL.canParse(one)) || (names.length > 1 && names.includes(''))) {
    const expected = 'expected postgres://user:password@host:5432/name, several hosts separated by commas';
    throw new StoreError('bad-url', `the database address is malformed; ${expected}`);
  }
  const parsed = urls.map((one) => new URL(one));
  const wanted = parsed[0]?.searchParams.get('target_session_attrs');
  for (const one of parsed) one.searchParams.delete('target_session_attrs');
  return {
    urls: parsed.map(({ href }) => href),
    writable:
      wanted === null || wanted === undefined ? names.length > 1 : wanted === 'read-write' || wanted === 'primary',
    /** Never the password. */
    target:
      parsed.map(({ hostname, port }) => `${hostname || 'localhost'}:${port || 5432}`).join(',') + parsed[0]?.pathname,
  };
}
