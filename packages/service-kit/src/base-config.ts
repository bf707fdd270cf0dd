import { join, resolve } from 'node:path';
import { z } from 'zod';
import { envCidrs, isLoopbackHost, type TrustProxy, toTrustProxy } from './client-address.ts';
import { isProduction, ownSecret, toEnvironment } from './config.ts';
import { envBoolean, envDatabaseUrl, envInteger, envKeys, envList } from './env-types.ts';
import { envRedisUrl } from './redis.ts';

/**
 * The variables every service shares; a service's schema is `z.object({ ...baseVariables({ port }), … })`.
 *
 * @example
 * ```ts
 * import { baseVariables, envBoolean } from '@palaver/service-kit';
 * import { z } from 'zod';
 *
 * const open = envBoolean().prefault('false').meta({ description: 'Whether the gate is open.' });
 * export const configSchema = z.object({ ...baseVariables({ port: 4200 }), HERD_OPEN: open });
 * ```
 */
export function baseVariables(defaults: { port: number }) {
  return {
    NODE_ENV: z.string().transform(toEnvironment).prefault('development').meta({
      description:
        'Name of the deployment environment. `production`, and every name but `development`, `dev`, `test`, `local` and `ci`, refuses to start unsafely; see docs/security.md.',
      example: 'production',
    }),
    HOST: z.string().prefault('127.0.0.1').meta({
      description: 'Address to listen on. The default is reachable from this machine only.',
      example: '0.0.0.0',
    }),
    PORT: envInteger({ min: 0, max: 65_535 })
      .prefault(String(defaults.port))
      .meta({ description: "The service's own port when it runs alone." }),
    DATA_DIR: z.string().prefault('./data').meta({
      description: 'Folder of the embedded databases and of keys created at the first start.',
      example: '/var/lib/palaver',
    }),
    DATABASE_URL: envDatabaseUrl().optional().meta({
      description:
        'Database to use instead of the embedded one in DATA_DIR. Of several PostgreSQL hosts, separated by commas, the one that takes writes is used.',
      example: 'postgres://palaver:secret@db1.example:5432,db2.example:5432/palaver',
      secret: true,
    }),
    DATABASE_READ_URL: envDatabaseUrl().optional().meta({
      description:
        'PostgreSQL replica that reports and exports are read from; while it is unreachable, DATABASE_URL is read.',
      example: 'postgres://palaver:secret@replica.example:5432/palaver',
      secret: true,
    }),
    DATABASE_POOLER: z
      .enum(['auto', 'transaction', 'none'], { error: 'expected auto, transaction or none' })
      .prefault('auto')
      .meta({
        description:
          'Whether DATABASE_URL leads to a pooler in transaction mode, such as PgBouncer: `auto` finds out and then sends no session parameters and no named statements.',
        example: 'transaction',
      }),
    DATA_ENCRYPTION_KEY: envKeys().prefault('').meta({
      description:
        'Keys that messages, memories, phone numbers and other personal data are encrypted with in the database, comma separated: the first encrypts, all decrypt. Each is 32 bytes as 64 hex digits or base64. If not set, they are stored unencrypted; once set, it cannot be unset. See docs/data.md.',
      example: '0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0',
      secret: true,
    }),
    MIGRATE_ON_START: envBoolean()
      .prefault('true')
      .meta({ description: 'Migrate the database at the start. With `false`, run `palaver migrate` before.' }),
    REDIS_URL: envRedisUrl().optional().meta({
      description:
        'Redis or Valkey that connects several instances: shared rate limits, events and runs. `rediss://` for TLS, `redis+sentinel://a:26379,b:26379/master-name`, `redis+cluster://a:6379,b:6379`.',
      example: 'redis://cache.example:6379',
      secret: true,
    }),
    DRAIN_DELAY_MS: envInteger({ min: 0, max: 60_000 }).prefault('0').meta({
      description:
        'How long the service keeps serving after SIGTERM while `/ready` and `/health` answer 503. Behind a load balancer: longer than its health checks take to notice.',
    }),
    REQUEST_TIMEOUT_SECONDS: envInteger({ min: 1, max: 3_600 }).prefault('30').meta({
      description:
        'How long a request may take to arrive, head and body. Slower ones are answered with 408, at most a second later. For an upload: the longest time without data.',
    }),
    LOG_LEVEL: z
      .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
        error: 'expected trace, debug, info, warn, error, fatal or silent',
      })
      .prefault('info')
      .meta({
        description:
          'How much is logged, as JSON lines (pretty on a terminal). If not set, `npm start` at a terminal logs to palaver.log in DATA_DIR.',
        example: 'debug',
      }),
    OPERATOR_TOKEN: z.string().optional().meta({
      description:
        "Bearer token of the operators' routes, with the role admin. Without it, and without named operators, they answer only to direct connections from this machine, and in production to nobody.",
      example: '9f2c1e0b7d4a4c55a1f06b3e8d2c7790e4b1a6c3f58d4e2091b7c6a5d3e8f012',
      secret: true,
      inProduction: ownSecret(),
    }),
    TRUST_PROXY_ENABLED: envBoolean().prefault('false').meta({
      description:
        'Take the client address from X-Forwarded-For. Only behind a reverse proxy that adds to it or sets it.',
    }),
    TRUST_PROXY_HOPS: envInteger({ min: 1, max: 10 }).prefault('1').meta({
      description:
        'Number of reverse proxies in front of the service: the client address is the entry that many places from the right of X-Forwarded-For.',
    }),
    TRUST_PROXY_CIDRS: envCidrs().optional().meta({
      description:
        'Addresses of the reverse proxies, instead of TRUST_PROXY_HOPS: the client address is the rightmost entry outside them. For connections from elsewhere X-Forwarded-For is ignored.',
      example: '10.0.0.0/8,127.0.0.1',
    }),
    ALLOWED_HOSTS: envList().optional().meta({
      description:
        'Host names under which the service may be called. Without it a service that listens on loopback, behind no trusted proxy, takes `localhost` and addresses only, and others take any.',
      example: 'ussd.example,ussd.internal',
    }),
    OPERATORS_FILE: z.string().optional().meta({
      description: 'File of named operators, written by `palaver operator`. By default operators.json in DATA_DIR.',
      example: '/etc/palaver/operators.json',
    }),
    OTEL_ENABLED: envBoolean().prefault('false').meta({
      description:
        'Record OpenTelemetry spans of requests, turns, model calls and tool calls. The SDK is loaded by the process: see docs/plugins/telemetry.md.',
    }),
  };
}

export function auditVariables() {
  return {
    RETENTION_AUDIT_DAYS: envInteger({ min: 0, max: 36_500 })
      .prefault('730')
      .meta({ description: 'Days that lines of the audit log are kept; 0 keeps them forever.' }),
  };
}

const baseSchema = z.object(baseVariables({ port: 0 }));

export type BaseConfig = Readonly<z.infer<typeof baseSchema>>;

export interface Edge {
  trustProxy: TrustProxy;
  operatorToken: string | undefined;
  operatorsFile?: string | undefined;
  /** Whether a request of this machine is an operator's while there is neither a token nor a named operator. */
  trustsLocal?: boolean;
  allowedHosts?: string[] | undefined;
  /** How long a request may take to arrive, head and body; 30 s where it is not set. */
  requestTimeoutMs?: number;
  tracing?: boolean;
}

export function toEdge(config: BaseConfig): Edge {
  return {
    trustProxy: toTrustProxy(config),
    operatorToken: config.OPERATOR_TOKEN,
    operatorsFile: toOperatorsFile(config),
    // A proxy on this machine that names no client makes every visitor look local.
    trustsLocal: !isProduction(config.NODE_ENV),
    allowedHosts: config.ALLOWED_HOSTS ?? (isLocalOnly(config) ? [] : undefined),
    requestTimeoutMs: config.REQUEST_TIMEOUT_SECONDS * 1_000,
    tracing: config.OTEL_ENABLED,
  };
}

/** On loopback only this machine can connect, its browser included: another name in Host is a page that was pointed here. */
const isLocalOnly = ({ HOST, TRUST_PROXY_ENABLED }: BaseConfig) => isLoopbackHost(HOST) && !TRUST_PROXY_ENABLED;

export const isOwnMachine = (config: BaseConfig) => isLocalOnly(config) && !isProduction(config.NODE_ENV);

export function toOperatorsFile(config: Pick<BaseConfig, 'OPERATORS_FILE' | 'DATA_DIR'>): string {
  return resolve(config.OPERATORS_FILE ?? join(config.DATA_DIR, 'operators.json'));
}
