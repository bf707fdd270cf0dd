import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';
import httpProxy, { type FastifyHttpProxyOptions } from '@fastify/http-proxy';
import { AppError } from '@palaver/contract';
import { clientAddress, type Server } from '@palaver/service-kit';
import { isForeignOrigin, isTrustedLocal } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Agent, type Dispatcher } from 'undici';
import type { WebSocket } from 'ws';

// Longer than any turn of an agent; streams send a heartbeat every 15 s.
const silenceMs = 660_000;
const handshakeMs = 10_000;
const maxFrameBytes = 4 * 1024 * 1024;
const methodsWithoutBody = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE']);

type RequestDone = (error: Error | null, data: Dispatcher.ResponseData) => void;

const titles = { 'ussd-gateway': 'USSD gateway', agent: 'agent service', gateway: 'query gateway' };

interface ProxiedService {
  title: string;
  prefix: string;
  upstream: string;
  locationPrefix?: string;
  /** Sent with reads alone, unless the page sends its own. */
  headers?: Record<string, string>;
  toPath?(path: string): string;
}

/** `/api/<service>/…` is that service's `/…`, streamed both ways, so that the page needs no CORS. */
export async function addServiceRoutes(
  server: Server,
  targets: Targets,
  gateway: { headers: Record<string, string>; prefix: string },
): Promise<void> {
  const agent = new Agent({ headersTimeout: silenceMs, bodyTimeout: silenceMs });
  server.addHook('onClose', () => agent.destroy());
  const left = new AsyncLocalStorage<AbortSignal>();
  // The proxy cancels a request only once it has an answer; this signal covers the wait for it.
  const request = ((options: Dispatcher.RequestOptions, done: RequestDone) =>
    agent.request({ ...options, signal: left.getStore() }, done)) as Dispatcher['request'];

  const toOptions = ({
    title,
    prefix,
    upstream,
    locationPrefix = prefix,
    headers: ownHeaders,
    toPath = (path) => path,
  }: ProxiedService): FastifyHttpProxyOptions => ({
    prefix,
    upstream,
    undici: { request },
    disableRequestLogging: true,
    internalRewriteLocationHeader: false,
    handler: (_message, reply, path, options) => {
      const leaving = new AbortController();
      reply.raw.once('close', () => leaving.abort());
      return left.run(leaving.signal, () => reply.from(toPath(path), options));
    },
    replyOptions: {
      retryDelay: () => null,
      rewriteRequestHeaders: (message, headers) => ({
        ...(isRead(message as FastifyRequest) && ownHeaders),
        ...toServiceHeaders(message as FastifyRequest, headers),
      }),
      rewriteHeaders: (headers) => toBrowserHeaders(headers, locationPrefix),
      onError: (reply) => (reply as FastifyReply).send(new AppError('UNAVAILABLE', `The ${title} cannot be reached.`)),
    },
  });

  await server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addHook('onRequest', refuseBody);
    scope.addHook('onRequest', refuseUpgrade);
    for (const [name, base] of Object.entries(targets))
      await scope.register(
        httpProxy,
        toOptions({
          title: titles[name as keyof Targets],
          prefix: `/api/${name}`,
          upstream: base,
          ...(name === 'gateway' && {
            headers: gateway.headers,
            toPath: (path: string) => path.replace(/^\/ixo(?=\/|$)/, () => gateway.prefix),
          }),
        }),
      );
  });

  // Socket.IO reads the path of an address as a namespace, so its own path is at the root.
  await server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addHook('onRequest', refuseBody);
    const sockets = new Set<WebSocket>();
    scope.addHook('preClose', async () => {
      for (const socket of sockets) socket.terminate();
    });
    const socketOptions = {
      maxPayload: maxFrameBytes,
      handshakeTimeout: handshakeMs,
      rewriteRequestHeaders: (_headers: unknown, message: FastifyRequest) => toSocketHeaders(message),
    };
    await scope.register(httpProxy, {
      ...toOptions({ title: titles.agent, prefix: '/socket.io', upstream: targets.agent, locationPrefix: '' }),
      rewritePrefix: `${new URL(targets.agent).pathname.replace(/\/$/, '')}/socket.io`,
      websocket: true,
      wsServerOptions: { maxPayload: maxFrameBytes },
      wsClientOptions: socketOptions,
      wsHooks: {
        onConnect: (_context, source) => sockets.add(source),
        onDisconnect: (_context, source) => sockets.delete(source),
      },
    });
  });
}

const isRead = ({ method }: FastifyRequest) => method === 'GET' || method === 'HEAD';

/** A body where the method has none can hide another request. */
async function refuseBody({ method, headers }: FastifyRequest, reply: FastifyReply): Promise<void> {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
  if (!hasBody || !methodsWithoutBody.has(method)) return;
  reply.header('connection', 'close');
  throw new AppError('BAD_REQUEST', `A ${method} request has no body.`);
}

async function refuseUpgrade({ headers }: FastifyRequest): Promise<void> {
  if (headers.upgrade !== undefined) throw new AppError('BAD_REQUEST', 'There is no WebSocket at this path.');
}

/** Where the console reaches each service, by the name in its own path: `/api/<name>/…`. */
export type Targets = Record<'ussd-gateway' | 'agent' | 'gateway', string>;

type Headers = Record<string, string | string[] | undefined>;

const hopByHop = [
  ...['connection', 'expect', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
];

const pageHeaders = ['origin', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest', 'sec-fetch-user'];

// Without a token or a named operator, operators' routes trust callers on their own machine, where the console is. So
// it names the client, unless the service would trust the browser. Origin headers that name the console stop here.
export function toServiceHeaders(request: FastifyRequest, headers: Headers): IncomingHttpHeaders {
  const passed = withoutHopByHop(headers);
  passed['x-request-id'] = request.id;
  if (!isTrustedLocal(request.raw)) passed['x-forwarded-for'] = clientAddress(request);
  if (!isForeignOrigin(request.headers)) for (const name of pageHeaders) delete passed[name];
  return passed;
}

/** The agent has a WebSocket handshake of its own with the console. */
function toSocketHeaders(request: FastifyRequest): Record<string, string> {
  const passed = Object.entries(toServiceHeaders(request, request.headers));
  return Object.fromEntries(
    passed.filter(
      (entry): entry is [string, string] =>
        typeof entry[1] === 'string' && entry[0] !== 'host' && !entry[0].startsWith('sec-websocket-'),
    ),
  );
}

/** Addresses that a service redirects to are put under the console's own path. */
function toBrowserHeaders(headers: Headers, prefix: string): IncomingHttpHeaders {
  const passed = withoutHopByHop(headers);
  const { location } = passed;
  if (typeof location === 'string' && location.startsWith('/')) passed.location = prefix + location;
  return passed;
}

function withoutHopByHop(headers: Headers): Headers {
  const named = String(headers.connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !hopByHop.includes(name) && !named.includes(name)),
  );
}
