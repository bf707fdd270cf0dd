import type { IncomingMessage } from 'node:http';
import { AppError } from '@palaver/contract';
import { socketAuthSchema, socketQuerySchema } from '@palaver/contract/internal';
import {
  type Edge,
  isAllowedPage,
  isServedHost,
  type RateLimit,
  rawClientAddress,
  toAddressKey,
  toRateError,
} from '@palaver/service-kit/internal';
import type { IssuedToken } from '@palaver/ucan/internal';
import type { Socket } from 'socket.io';
import { type AuthorizeOptions, authorize } from '../../auth/authorize.ts';
import type { ClientKey } from '../../auth/client-key.ts';
import { noLongerSignsIn } from '../../auth/open-connections.ts';
import { requireSession } from '../../routes/sessions.ts';
import type { DelegationStore } from '../../store/delegations.ts';
import type { SessionStore } from '../../store/sessions.ts';

export interface AdmissionParts extends AuthorizeOptions {
  origins: string[];
  /** Which proxies name the client, and which hosts are served. */
  edge: Pick<Edge, 'trustProxy' | 'allowedHosts'>;
  sessions: Pick<SessionStore, 'find'>;
  delegations: Pick<DelegationStore, 'findStanding'>;
  /** Limits what one address sends, by requests and by sockets. */
  limit: RateLimit;
  clientKey: ClientKey;
}

export interface SocketData {
  sessionId: string;
  did: string;
  /** Undefined for an address that many users share. */
  client: string | undefined;
  /** The key by which its events are counted: the address, or the user if many users share it. */
  counter: string;
  expiration: number;
  /** The token that signed the user in, then its proofs: each can be revoked. */
  chain: readonly IssuedToken[];
}

/**
 * Why a handshake is refused before anything is kept for it. It counts like a request that writes: anyone can send as many
 * as they like, with or without a credential.
 */
export async function findRefusal(request: IncomingMessage, parts: AdmissionParts): Promise<string | undefined> {
  const { headers } = request;
  const { allowedHosts } = parts.edge;
  const isServed = allowedHosts === undefined || isServedHost(headers.host, allowedHosts);
  if (!isServed || !isAllowedPage(headers, parts.origins)) return 'This page or host is not allowed.';
  const { counter } = addressOf(request, parts);
  const standing = counter === undefined ? undefined : await parts.limit(counter);
  return standing?.isOver ? toRateError(standing).message : undefined;
}

function addressOf(request: IncomingMessage, { edge, clientKey }: AdmissionParts) {
  const ip = rawClientAddress(request, edge.trustProxy);
  return { ip, counter: clientKey({ ip, socket: request.socket }) };
}

/** The checks of an HTTP request, for a handshake; the authenticated DID is the token's, never the query's. */
export async function admit({ handshake, request }: Socket, parts: AdmissionParts): Promise<SocketData> {
  const query = socketQuerySchema.safeParse(handshake.query);
  const auth = socketAuthSchema.safeParse(handshake.auth ?? {});
  if (!query.success || !auth.success)
    throw new AppError('VALIDATION_FAILED', 'A connection needs a sessionId and credentials.');
  const { invocation, ucanDelegation: delegation } = auth.data;
  const { ip, counter: client } = addressOf(request, parts);
  const result = await authorize({ invocation, delegation, client: toAddressKey(ip) }, parts);
  if ('error' in result) throw result.error;
  const { did, expiration, chain } = result.identity;
  // If many users share the address, a handshake counts for its user.
  const standing = client === undefined ? await parts.limit(did) : undefined;
  if (standing?.isOver) throw toRateError(standing);
  const { sessionId } = query.data;
  await requireSession(parts.sessions, did, sessionId);
  return { sessionId, did, expiration, chain, client, counter: client ?? did };
}

/** Throws if the credential no longer signs in or the session is gone: both can happen while a socket is being admitted. */
export async function checkAdmission(
  { did, sessionId, chain }: SocketData,
  parts: Pick<AdmissionParts, 'delegations' | 'sessions'>,
): Promise<void> {
  if (await parts.delegations.findStanding(chain)) throw noLongerSignsIn();
  await requireSession(parts.sessions, did, sessionId);
}
