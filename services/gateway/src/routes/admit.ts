import type { IncomingMessage } from 'node:http';
import {
  createRawClientAddress,
  noteCounted,
  type RateLimit,
  type TrustProxy,
  toAddressKey,
  toRateHeaders,
} from '@palaver/service-kit/internal';
import { type Authorize, authorizeAnyone } from '../auth/authorize.ts';

export interface AdmitParts {
  /** Without Redis, for nothing waits here. */
  limit: RateLimit | undefined;
  trustProxy: TrustProxy;
  authorize: Authorize;
}

/** Headers for the reply, names and values alternating; undefined for a request that the routes have to refuse. */
export type Admit = (request: IncomingMessage, path: string) => string[] | undefined;

/** Counts a request and checks its credentials where it does not come to the routes, in the same order as they do. */
export function createAdmit({ limit, trustProxy, authorize }: AdmitParts): Admit {
  if (!limit && authorize === authorizeAnyone) return () => [];
  const addressOf = createRawClientAddress(trustProxy);
  return (request, path) => {
    const { headers, socket } = request;
    const ip = addressOf(request);
    const standing = limit?.(toAddressKey(ip));
    if (standing instanceof Promise) return undefined;
    const isAdmitted = !standing?.isOver && isAllowed(authorize({ headers, ip, socket, raw: request }, path));
    if (isAdmitted) return standing ? Object.entries(toRateHeaders(standing)).flat() : [];
    if (standing) noteCounted(request, standing);
    return undefined;
  };
}

/** A key that is over its limit stays so, however often it is counted. */
function isAllowed(decided: ReturnType<Authorize>): boolean {
  return !('then' in decided) && decided.ok;
}
