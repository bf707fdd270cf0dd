import { agentLimits } from '@palaver/contract';
import { agentLandingSchema } from '@palaver/contract/internal';
import { type CloseStack, closeServer, createServer, type Server } from '@palaver/service-kit';
import {
  addApiDocs,
  addAuditRoute,
  addOperatorAudit,
  addRateLimit,
  addStoreMetrics,
  createProbes,
  createRateLimit,
  type RateLimit,
  toDataFolder,
  toEdge,
} from '@palaver/service-kit/internal';
import { timeReaderOf, toUnavailable } from '@palaver/store/internal';
import type { FastifyRequest } from 'fastify';
import { Counter } from 'prom-client';
import { addAuth, createRouteMatcher, type PublicRoute } from '../auth/auth-hook.ts';
import { createOpenConnections, type OpenConnections } from '../auth/open-connections.ts';
import { createErasures, type Erasures } from '../cluster/erasures.ts';
import { writesPerMinute } from '../config.ts';
import { addHeavyGate, limitHeldBytes } from '../doors/heavy-requests.ts';
import { addMessageRoutes } from '../doors/native/messages.ts';
import { createSocketTransport } from '../doors/native/socket.ts';
import { addDelegationRoutes } from '../routes/delegation.ts';
import { addSessionRoutes } from '../routes/sessions.ts';
import { addUserDataRoutes } from '../routes/user-data.ts';
import { createUserData } from '../user-data.ts';
import { type AgentTurns, addRunMetrics, type TurnsParts } from './create-turns.ts';

interface EdgeParts extends Pick<TurnsParts, 'config' | 'logger' | 'store' | 'redis' | 'identity' | 'cluster'> {
  turns: AgentTurns;
  authExcludedRoutes: PublicRoute[];
  addRoutes?: ((server: Server) => void | Promise<void>) | undefined;
}

const standardClientHeaders = /^(?:last-event-id|(?:x-stainless|openai|mcp|a2a|x-a2a)-[a-z0-9-]+)$/i;

const ownPublicRoutes = ['/', '/health', '/ready', '/docs', '/docs/*'];

export async function createEdge(parts: EdgeParts, started: CloseStack): Promise<Server> {
  const { config, logger, store, identity, cluster, turns } = parts;
  const server = await createAgentServer(parts);
  const limits = {
    name: 'agent-writes',
    perMinute: writesPerMinute(config),
    redis: parts.redis,
  };
  const limit = createRateLimit(limits);
  const connections = createOpenConnections(identity.delegations);
  started.defer(async () => connections.close());
  const sockets = addSockets(server, parts, { limit, connections });
  started.defer(() => sockets.close());
  // New requests are refused while running turns finish; sockets stay connected until then.
  started.defer(async () => {
    await Promise.all([closeServer(server), turns.drain().then(() => sockets.close())]);
  });
  addRunMetrics(server.metrics, turns, cluster);
  addStoreMetrics(server.metrics, store, logger);
  const isPublic = createRouteMatcher([
    ...ownPublicRoutes,
    ...turns.plugins.publicRoutes(),
    ...parts.authExcludedRoutes,
  ]);
  // Before authentication: anyone can make as many keys as they like.
  addRateLimit(server, {
    ...limits,
    limit,
    key: (request) =>
      isRead(request.method) && !request.routeOptions.config.countsAsWrite ? undefined : turns.clientKey(request),
  });
  const reads = {
    name: 'agent-reads',
    perMinute: limits.perMinute * agentLimits.readsPerWrite,
    redis: parts.redis,
  };
  addRateLimit(server, { ...reads, key: (request) => (isCountedRead(request) ? turns.clientKey(request) : undefined) });
  addHeavyGate(server, turns);
  limitHeldBytes(server, turns);
  const erasures = createErasures(cluster.broadcast);
  const { clientKey } = turns;
  addAuth(server, { ...identity.auth, isPublic, connections, clientKey, isErased: erasures.has });
  const title = `${identity.oracle.name}: agent service`;
  await addApiDocs(server, { title, version: '1', isPublic, description, securitySchemes, security });
  await addOwnRoutes(server, parts, erasures);
  for (const { plugin, ctx } of turns.plugins.loaded) {
    const addRoutes = plugin.getRoutes?.(ctx);
    if (addRoutes) await server.register(async (scope: Server) => addRoutes(scope));
  }
  await parts.addRoutes?.(server);
  return server;
}

function createAgentServer({ config, logger, store, redis }: EdgeParts): Promise<Server> {
  return createServer({
    name: 'agent',
    logger,
    ...toEdge(config),
    bodyLimit: config.BODY_LIMIT_BYTES,
    toKnownError: toUnavailable,
    isUpload: ({ method, url }) => method === 'POST' && /^\/files(\?|$)/.test(url),
    probes: createProbes({
      redis,
      withoutRedis: 'Sockets of other instances are not reached, and the limit of sends is not enforced.',
      folder: toDataFolder(config),
      readTime: timeReaderOf(store),
      isLocked: store.isLocked,
    }),
    cors: {
      origins: config.CORS_ORIGIN,
      extraHeaders: ['idempotency-key', 'x-socket-id', standardClientHeaders],
      exposedHeaders: ['X-Run-Id', 'X-Message-Id', 'Mcp-Session-Id', 'WWW-Authenticate'],
    },
    async health() {
      const healthy = await store.ping();
      return { healthy, body: { status: healthy ? 'ok' : 'degraded', timestamp: new Date().toISOString() } };
    },
  });
}

function addSockets(
  server: Server,
  { config, logger, redis, identity, cluster, turns }: EdgeParts,
  { limit, connections }: { limit: RateLimit; connections: OpenConnections },
) {
  const ignoredResults = new Counter({
    name: 'agent_ignored_client_results_total',
    help: 'Results of pages that came late, twice or from a stranger.',
    registers: [server.metrics],
  });
  const sockets = createSocketTransport({
    ...identity.auth,
    server,
    origins: config.CORS_ORIGIN,
    edge: toEdge(config),
    redis,
    registry: cluster.sockets,
    sessions: turns.sessions,
    delegations: identity.delegations,
    logger,
    limit,
    connections,
    clientKey: turns.clientKey,
    onResult: turns.browserCalls.settle,
    onApproval: turns.access.answerApproval,
    onIgnored: () => ignoredResults.inc(),
  });
  turns.clients.attach({ ...sockets, dropDelegation: connections.drop });
  return sockets;
}

async function addOwnRoutes(
  server: Server,
  { config, store, redis, identity, turns }: EdgeParts,
  erasures: Erasures,
): Promise<void> {
  const { audit, delegations, verifier, oracle } = identity;
  const { sessions, messages, hub, access, approvals, clients } = turns;
  const landing = { tags: ['Service'], summary: 'Landing', response: { 200: agentLandingSchema } };
  server.get('/', { schema: landing }, async () => ({
    status: 'ok' as const,
    message: 'Palaver agent service running; see /docs',
    timestamp: new Date().toISOString(),
  }));
  addOperatorAudit(server, audit);
  addAuditRoute(server, { path: '/audit', audit });
  const createLimit = { name: 'agent-sessions', perMinute: config.SENDS_PER_MINUTE, redis };
  await addSessionRoutes(server, { sessions, messages, hub, clients, createLimit });
  addMessageRoutes(server, { sessions, messages, hub, access, senderOf: turns.senderOf });
  const userData = createUserData({
    store,
    audit,
    agentDid: oracle.did,
    plugins: turns.plugins.loaded.map(({ plugin }) => plugin),
    erasures,
    dropSession(sessionId) {
      hub.drop(sessionId);
      clients.drop(sessionId);
    },
  });
  await userData.registerSealed();
  addUserDataRoutes(server, { userData, audit, clientKey: turns.clientKey, dids: [oracle.did, oracle.keyDid] });
  addDelegationRoutes(server, { delegations, verifier, audit, approvals, onRevoked: clients.dropDelegation });
}

function isCountedRead({ method, routeOptions }: FastifyRequest): boolean {
  const isProbe = ['/', '/health', '/ready', '/metrics'].includes(routeOptions.url ?? '');
  return isRead(method) && method !== 'OPTIONS' && !isProbe;
}

const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD' || method === 'OPTIONS';

const description = `
Sessions, messages and streams of a conversational agent.

Protected routes take a user-signed UCAN invocation: \`Authorization: Bearer <invocation>\` together with
\`X-Auth-Type: ucan\`. A user-to-agent delegation in \`x-ucan-delegation\` goes along for calls downstream, and is
accepted alone as the fallback. \`npx palaver token --for URL\` makes one for trying things out.

A user has at most ${agentLimits.repliesPerUser} requests that are being answered at a time, streams included, and a client address a share of all. Beyond
that the reply is 429 \`LIMIT_REACHED\` with \`Retry-After\`.
`;

const securitySchemes = {
  invocation: {
    type: 'http',
    scheme: 'bearer',
    description: 'UCAN invocation as a base64 CAR; with `X-Auth-Type: ucan`.',
  },
  authType: { type: 'apiKey', in: 'header', name: 'X-Auth-Type', description: '`ucan`' },
  delegation: {
    type: 'apiKey',
    in: 'header',
    name: 'x-ucan-delegation',
    description: 'UCAN delegation as a base64 CAR.',
  },
};

const security: Record<string, string[]>[] = [{ invocation: [], authType: [] }, { delegation: [] }];
