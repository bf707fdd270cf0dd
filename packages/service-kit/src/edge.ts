import { join, resolve } from 'node:path';
import type { BaseConfig } from './base-config.ts';
import { isLoopbackHost, type TrustProxy, toTrustProxy } from './client-address.ts';
import { isProduction } from './production-rules.ts';

/** What a server trusts: proxies, operators, host names; how long it waits for a request; and whether it traces. */
export interface Edge {
  trustProxy: TrustProxy;
  operatorToken: string | undefined;
  /** File of named operators. */
  operatorsFile?: string | undefined;
  /** Whether a request of this machine is an operator's while there is neither a token nor a named operator. */
  trustsLocal?: boolean;
  /** Host names that are served; any where it is not set. */
  allowedHosts?: string[] | undefined;
  /** How long a request may take to arrive, head and body; 30 s where it is not set. */
  requestTimeoutMs?: number;
  /** A span for every request. */
  tracing?: boolean;
}

export function toEdge(config: BaseConfig): Edge {
  // On loopback only this machine can connect, its browser included: another name in Host is a page that was pointed here.
  const isLocalOnly = isLoopbackHost(config.HOST) && !config.TRUST_PROXY_ENABLED;
  return {
    trustProxy: toTrustProxy(config),
    operatorToken: config.OPERATOR_TOKEN,
    operatorsFile: toOperatorsFile(config),
    // A proxy on this machine that names no client makes every visitor look local.
    trustsLocal: !isProduction(config.NODE_ENV),
    allowedHosts: config.ALLOWED_HOSTS ?? (isLocalOnly ? [] : undefined),
    requestTimeoutMs: config.REQUEST_TIMEOUT_SECONDS * 1_000,
    tracing: config.OTEL_ENABLED,
  };
}

export function toOperatorsFile(config: Pick<BaseConfig, 'OPERATORS_FILE' | 'DATA_DIR'>): string {
  return resolve(config.OPERATORS_FILE ?? join(config.DATA_DIR, 'operators.json'));
}
