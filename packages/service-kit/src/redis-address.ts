import type { ClusterNode, RedisOptions } from 'ioredis';
import { z } from 'zod';

export type RedisAddress =
  | { kind: 'single'; options: RedisOptions }
  | { kind: 'cluster'; nodes: ClusterNode[]; options: RedisOptions };

const pattern = /^redis(s?)(\+sentinel|\+cluster)?:\/\/(?:([^@/]*)@)?([^/?@]+)((?:\/[^/?]*)*)(?:\?(.*))?$/;
const expected =
  'expected redis://host:6379, rediss:// for TLS, redis+cluster://host:6379,host:6379 or redis+sentinel://host:26379,host:26379/master-name';

/**
 * `redis://user:password@host:port/db`, `rediss://` for TLS; `redis+cluster://` with one or more nodes;
 * `redis+sentinel://` with one or more sentinels, the master's name, a database, and `?sentinelPassword=`.
 */
export function parseRedisAddress(url: string): RedisAddress | undefined {
  const [, tls, scheme, credentials = '', hosts = '', path = '', query] = pattern.exec(url) ?? [];
  const sentinel = scheme === '+sentinel';
  const nodes = hosts.split(',').map((host) => toNode(host, sentinel ? 26_379 : 6_379));
  if (hosts === '' || !nodes.every((node) => node !== undefined)) return undefined;
  const [username, password] = credentials.includes(':') ? split(credentials) : [undefined, credentials];
  const [first = '', second = ''] = path.split('/').slice(1);
  const db = sentinel ? second : first;
  if (!/^\d*$/.test(db) || (sentinel && first === '')) return undefined;
  const options: RedisOptions = {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(db && { db: Number(db) }),
    ...(tls && { tls: {} }),
  };
  if (sentinel) {
    const sentinelPassword = new URLSearchParams(query).get('sentinelPassword');
    const shared = { sentinels: nodes, name: first, ...(tls && { enableTLSForSentinelMode: true }) };
    return { kind: 'single', options: { ...options, ...shared, ...(sentinelPassword && { sentinelPassword }) } };
  }
  if (scheme === '+cluster') return { kind: 'cluster', nodes, options };
  return nodes.length === 1 ? { kind: 'single', options: { ...options, ...nodes[0] } } : undefined;
}

/** `REDIS_URL`. */
export function envRedisUrl() {
  return z.string().refine((text) => parseRedisAddress(text) !== undefined, expected);
}

function toNode(text: string, defaultPort: number): { host: string; port: number } | undefined {
  const [, host = '', port] = /^(\[[\da-f:.]+\]|[^:\s]+)(?::(\d{1,5}))?$/i.exec(text) ?? [];
  return host === '' ? undefined : { host: host.replace(/^\[|\]$/g, ''), port: Number(port ?? defaultPort) };
}

function split(credentials: string): [string, string] {
  const colon = credentials.indexOf(':');
  return [credentials.slice(0, colon), credentials.slice(colon + 1)];
}
