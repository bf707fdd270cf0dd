import type { IncomingMessage } from 'node:http';
import { AppError, type Approval, agentLimits, type ServerEventName, type ServerEventPayload } from '@palaver/contract';
import {
  clientEventPayloadSchemas,
  clientEvents,
  serverEvents,
  socketAuthSchema,
  socketQuerySchema,
  toErrorBody,
  toSocketPayload,
} from '@palaver/contract/internal';
import type { Logger, Server } from '@palaver/service-kit';
import {
  createRawClientAddress,
  type Edge,
  isAllowedPage,
  isServedHost,
  type RateLimit,
  toAddressKey,
  toOriginRules,
  toRateError,
} from '@palaver/service-kit/internal';
import { createAdapter } from '@socket.io/redis-streams-adapter';
import type { Redis } from 'ioredis';
import { type Socket, Server as SocketServer } from 'socket.io';
import { type AuthorizeOptions, authorize, type ClientKey, type Identity } from '../../auth/authorize.ts';
import { noLongerSignsIn, type OpenConnections, tooManyOpen } from '../../auth/open-connections.ts';
import type { SocketRegistry } from '../../cluster/create-cluster.ts';
import type { BrowserCall } from '../../cluster/session-clients.ts';
import { requireSession } from '../../routes/sessions.ts';
import type { ApprovalAnswer } from '../../store/approvals.ts';
import type { DelegationStore } from '../../store/delegations.ts';
import type { SessionStore } from '../../store/sessions.ts';
import type { BrowserResult } from '../../turn/runtime-context.ts';
import { limitSocketBytes } from './socket-bytes.ts';

interface SocketParts extends AuthorizeOptions {
  origins: string[];
  edge: Pick<Edge, 'trustProxy' | 'allowedHosts'>;
  sessions: Pick<SessionStore, 'find'>;
  delegations: Pick<DelegationStore, 'findStanding'>;
  limit: RateLimit;
  clientKey: ClientKey;
  server: Server;
  logger: Logger;
  registry: SocketRegistry;
  connections: OpenConnections;
  redis: Redis | undefined;
  /** A page answered a request; false if nobody here waits for it. */
  onResult(result: BrowserResult): boolean;
  onApproval(answer: ApprovalAnswer): Promise<Approval>;
  onIgnored(): void;
}

type ClientEvents = Record<string, never>;
type ServerEvents = Record<string, (payload: unknown) => void>;
type AgentServer = SocketServer<ClientEvents, ServerEvents, PeerEvents, SocketData>;
type AgentSocket = Socket<ClientEvents, ServerEvents, PeerEvents, SocketData>;
type PeerEvents = { 'browser-result': (result: BrowserResult, reply: (isTaken: boolean) => void) => void };

/** The event channel: one room per session, for the sockets that may see the session. */
export function createSocketTransport(parts: SocketParts) {
  const startedAt = Date.now();
  const any = parts.origins.includes('*');
  // A connection of its own: the adapter waits on it for what others write.
  const bus = parts.redis?.duplicate({ enableOfflineQueue: true, maxRetriesPerRequest: null });
  bus?.on('error', (error) => parts.logger.warn({ err: error }, 'Redis is not answering'));
  const io: AgentServer = new SocketServer(parts.server.server, {
    serveClient: false,
    connectTimeout: agentLimits.handshakeTimeoutMs,
    // A tool result over its limit must arrive to be refused: a closed connection would leave its turn waiting.
    maxHttpBufferSize: agentLimits.bodyBytes + agentLimits.toolResultBytes,
    perMessageDeflate: false,
    ...(bus && {
      adapter: createAdapter(bus, { streamName: 'palaver:agent:sockets', channelPrefix: 'palaver:agent:sockets' }),
    }),
    // Handshakes do not pass Fastify's hooks.
    allowRequest: (request, callback) => {
      findRefusal(request, parts).then(
        (refusal) => callback(refusal, refusal === undefined),
        (error) => callback(toKnown(error, parts.logger).message, false),
      );
    },
    cors: { origin: any ? '*' : toOriginRules(parts.origins), credentials: !any },
  });
  limitSocketBytes(io, {
    ownerOf: (request) => addressOf(request, parts).counter,
    onOver(connection) {
      const socket = [...io.of('/').sockets.values()].find(({ conn }) => conn === connection);
      if (socket) disconnectFor(socket, tooMuchSent);
      else connection.close();
    },
  });
  io.use((socket, next) => {
    const admission = admit(socket, parts).then((data) => {
      // Every event of a session goes to each of them.
      const { size = 0 } = io.of('/').adapter.rooms.get(data.sessionId) ?? {};
      if (size >= agentLimits.socketsPerSession)
        throw new AppError('LIMIT_REACHED', `The session has ${size} connections; close some before you open another.`);
      const leave = parts.connections.takeSocket({ userDid: data.did, client: data.client });
      if (!leave) throw tooManyOpen();
      // It may have left already, and then is never connected.
      socket.conn.once('close', leave);
      if (socket.conn.readyState === 'closed') leave();
      return data;
    });
    admission.then(
      (data) => {
        Object.assign(socket.data, data);
        next();
      },
      (error) => {
        const known = toKnown(error, parts.logger);
        // The client has the data in its `connect_error`.
        next(Object.assign(new Error(known.message), { data: toErrorBody(known) }));
        // Socket.IO would leave the connection open, for other namespaces. The refusal goes out first.
        setImmediate(() => socket.conn.close());
      },
    );
  });

  io.on('connection', (socket) => {
    forgetRequest(socket);
    const { sessionId, did, counter, chain, expiration } = socket.data;
    void socket.join(sessionId);
    const removeConnection = parts.connections.add({
      chain,
      expiration,
      endsWhenShared: true,
      check: () => checkAdmission(socket.data, parts),
      end: (reason) => disconnectFor(socket, reason),
    });
    const registered = { sessionId, userDid: did, socketId: socket.id };
    // Redis may be unreachable; this instance still knows its own sockets.
    parts.registry.add(registered).catch(() => {});
    socket.on('disconnect', () => {
      removeConnection();
      parts.registry.remove(registered).catch(() => {});
    });
    const reply = <Name extends ServerEventName>(name: Name, payload: ServerEventPayload[Name]) =>
      socket.emit(name, toSocketPayload(name, payload));
    const timestamp = () => new Date().toISOString();
    const on = createHandlers(socket, parts, counter);
    on('ping', () => reply('pong', { timestamp: timestamp() }));
    on('subscribe', () => reply('subscribed', { sessionId, events: serverEvents.map(({ name }) => name) }));
    on('list-events', () =>
      reply('available-events', { serverEvents: [...serverEvents], clientEvents: [...clientEvents] }),
    );
    on('status', () =>
      reply('status', {
        connected: true,
        sessionId,
        did,
        activeSessions: countSessions(),
        totalConnections: io.of('/').sockets.size,
        uptime: (Date.now() - startedAt) / 1000,
        timestamp: timestamp(),
      }),
    );
    on('tool_result', (payload) => {
      const result = clientEventPayloadSchemas.tool_result.safeParse(payload);
      if (result.success) settle({ sessionId, userDid: did, ...result.data });
    });
    on('action_call_result', (payload) => {
      const result = clientEventPayloadSchemas.action_call_result.safeParse(payload);
      if (result.success && result.data.sessionId === sessionId) settle({ userDid: did, ...result.data });
    });
    on('approval_response', (payload, acknowledge) => {
      const answer = clientEventPayloadSchemas.approval_response.safeParse(payload);
      if (!answer.success) return acknowledge(toErrorBody(new AppError('VALIDATION_FAILED', answer.error.message)));
      parts.onApproval({ userDid: did, ...answer.data }).then(
        (approval) => acknowledge({ approval }),
        (error) => acknowledge(toErrorBody(toKnown(error, parts.logger))),
      );
    });
    // After it has joined its room and the open connections: what is revoked or deleted from now on finds it there.
    checkAdmission(socket.data, parts).then(
      () => reply('connected', { sessionId, did, socketId: socket.id, timestamp: timestamp() }),
      (error) => disconnectFor(socket, toKnown(error, parts.logger)),
    );
  });

  /** The turn that waits for a result may run on another instance. */
  function settle(result: BrowserResult): void {
    if (parts.onResult(result)) return;
    if (!bus) parts.onIgnored();
    else
      io.serverSideEmit('browser-result', result, (_error: unknown, taken: boolean[] = []) => {
        if (!taken.includes(true)) parts.onIgnored();
      });
  }
  io.on('browser-result', (result, reply) => reply(parts.onResult(result)));

  function countSessions(): number {
    return new Set([...io.of('/').sockets.values()].map((socket) => socket.data.sessionId)).size;
  }

  let closing: Promise<void> | undefined;
  async function close(): Promise<void> {
    io.local.disconnectSockets(true);
    io.engine.close();
    await io.of('/').adapter.close();
    bus?.disconnect();
  }

  return {
    io,
    notify<Name extends ServerEventName>(sessionId: string, name: Name, payload: ServerEventPayload[Name]): void {
      const event = toSocketPayload(name, payload);
      io.to(sessionId).emit(name, name === 'approval_request' ? hideFromOlder(event) : event);
    },
    /** Sends a request to the tab that sent the message, else to the latest; false if the user has none on this session. */
    async deliver({ event, socketId: sender, userDid, signal: _, ...call }: BrowserCall): Promise<boolean> {
      const socketId = await parts.registry.latest({ sessionId: call.sessionId, userDid }, sender);
      if (socketId === undefined) return false;
      const payload = event === 'action_call' ? { ...call, status: 'isRunning' } : call;
      io.to(socketId).emit(event, toSocketPayload(event, payload));
      return true;
    },
    drop(sessionId: string): void {
      const sockets = io.local.in(sessionId);
      sockets.emit('message_cache_invalidation', toSocketPayload('message_cache_invalidation', { sessionId }));
      sockets.disconnectSockets(true);
    },
    close(): Promise<void> {
      closing ??= close();
      return closing;
    },
  };
}

const tooMuchSent = new AppError('RATE_LIMITED', 'Your address has sent too much by sockets; try again in a minute.');

type Handler = (payload: unknown, acknowledge: (reply: unknown) => void) => void;

type ClientEventName = (typeof clientEvents)[number]['name'];

/** They change nothing. Every other event acts for the user, and is handled only while its credential signs in. */
const readingEvents: readonly ClientEventName[] = ['ping', 'subscribe', 'list-events', 'status'];

/** A handler that throws must not take the process down. A socket over the limit receives an error and is disconnected. */
function createHandlers(socket: AgentSocket, parts: SocketParts, counter: string) {
  const { logger, limit } = parts;
  return (event: ClientEventName, handle: Handler): void => {
    socket.on(event, async (payload: unknown, reply?: unknown) => {
      const acknowledge = (answer: unknown) => typeof reply === 'function' && reply(answer);
      try {
        const standing = await limit(counter);
        if (socket.disconnected) return;
        if (standing?.isOver) return disconnectFor(socket, toRateError(standing));
        // The broadcast of a revocation or a deletion may be lost.
        if (!readingEvents.includes(event)) await checkAdmission(socket.data, parts);
        if (!socket.disconnected) handle(payload, acknowledge);
      } catch (error) {
        acknowledge(toErrorBody(toKnown(error, logger)));
        if (error instanceof AppError) disconnectFor(socket, error);
      }
    });
  };
}

/** The older client library draws every event that it does not know as a message, unless its payload lacks the request id. */
function hideFromOlder(event: { payload: object }): object {
  const { requestId, ...payload } = event.payload as { requestId?: string };
  return { ...event, payload };
}

function toKnown(error: unknown, logger: Logger): AppError {
  if (error instanceof AppError) return error;
  logger.error({ err: error }, 'a socket could not be served');
  return new AppError('INTERNAL_ERROR', 'Something went wrong on our side.', { cause: error });
}

/** The handshake's request holds headers and buffers: with thousands of idle sockets that is most of the memory. */
function forgetRequest({ conn, handshake }: AgentSocket): void {
  (conn as { request: unknown }).request = null;
  handshake.headers = {};
  handshake.auth = {};
}

function disconnectFor(socket: AgentSocket, { code, message }: AppError): void {
  socket.emit('error', toSocketPayload('error', { code, message }));
  socket.disconnect(true);
}

interface SocketData extends Pick<Identity, 'did' | 'expiration' | 'chain'> {
  sessionId: string;
  client: string | undefined;
  /** The key by which its events are counted: the address, or the user if many users share it. */
  counter: string;
}

/** Why a handshake is refused. It counts like a write: anyone can send as many as they like, with or without a credential. */
async function findRefusal(request: IncomingMessage, parts: SocketParts): Promise<string | undefined> {
  const { headers } = request;
  const { allowedHosts } = parts.edge;
  const isServed = allowedHosts === undefined || isServedHost(headers.host, allowedHosts);
  if (!isServed || !isAllowedPage(headers, parts.origins)) return 'This page or host is not allowed.';
  const { counter } = addressOf(request, parts);
  const standing = counter === undefined ? undefined : await parts.limit(counter);
  return standing?.isOver ? toRateError(standing).message : undefined;
}

function addressOf(request: IncomingMessage, { edge, clientKey }: SocketParts) {
  const ip = createRawClientAddress(edge.trustProxy)(request);
  return { ip, counter: clientKey({ ip, socket: request.socket }) };
}

/** The checks of an HTTP request, for a handshake; the authenticated DID is the token's, never the query's. */
async function admit({ handshake, request }: Socket, parts: SocketParts): Promise<SocketData> {
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
async function checkAdmission({ did, sessionId, chain }: SocketData, parts: SocketParts): Promise<void> {
  if (await parts.delegations.findStanding(chain)) throw noLongerSignsIn();
  await requireSession(parts.sessions, did, sessionId);
}
