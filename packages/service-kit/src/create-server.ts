import { createHook } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { AppError } from '@palaver/contract';
import { toErrorBody } from '@palaver/contract/internal';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type RouteOptions,
} from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { Counter, type Registry } from 'prom-client';
import type { Edge } from './base-config.ts';
import { wantedLinesSchema } from './docs.ts';
import { sendError, toAppError } from './errors.ts';
import { addLifecycle, type HealthSources } from './lifecycle.ts';
import { findLines, type Logger } from './logger.ts';
import { createMetrics } from './metrics.ts';
import { createOperatorGuards, type OperatorGuard, type OperatorRole } from './operators.ts';
import { addCors, type CorsOptions, checkHosts, countHosts, refuseForeignPages } from './origins.ts';
import { browserHeaders } from './replies.ts';
import { addTextParser, limitRequestTime, longestUploadMs, measureJson } from './request-body.ts';
import { addRecentErrors, callerOf, createRequestLog, pathOf, toldOf, toRequestId } from './request-log.ts';
import type { Server } from './server.ts';
import { addTracing } from './tracing.ts';

/** Bytes, without headers. */
export const maxUrlLength = 8192;

class OwnLogController extends LogController {
  /** A reply that cannot be written to its end is cut off, so only the log can say why. */
  override streamError(error: NodeJS.ErrnoException, request: FastifyRequest): void {
    if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') request.log.error({ err: error }, 'a reply was cut off');
  }
}

/** What a server needs. */
export interface ServerOptions extends Edge, HealthSources {
  name: string;
  logger: Logger;
  bodyLimit: number;
  cors?: CorsOptions | undefined;
  /** Requests with large bodies: their limit is on the time in which nothing arrives. */
  isUpload?: ((request: { method: string; url: string }) => boolean) | undefined;
  /** How long a client may take nothing of its reply before it is cut off; a minute where it is not set. */
  idleTimeoutMs?: number | undefined;
  /** The error that clients may see instead of one from outside, such as an unreachable database; undefined for all others. */
  toKnownError?: ((error: unknown) => AppError | undefined) | undefined;
  /** Error bodies of another shape than the shared one. */
  toErrorBody?: ((error: AppError) => object) | undefined;
}

/**
 * A Fastify server with what every service has: request ids, errors, health, metrics, CORS, log lines, zod schemas.
 *
 * @example
 * ```ts
 * import { createServer, listen, type ServerOptions } from '@palaver/service-kit';
 *
 * export async function start(options: ServerOptions) {
 *   const server = await createServer(options);
 *   server.get('/goats', async () => ({ goats: 12 }));
 *   return listen(server, { host: '127.0.0.1', port: 4200 });
 * }
 * ```
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  keepTickShape();
  const { requestTimeoutMs = 30_000, isUpload } = options;
  const longestRequestMs = isUpload ? Math.max(longestUploadMs, requestTimeoutMs) : requestTimeoutMs;
  const toBody = options.toErrorBody ?? toErrorBody;
  const toKnown = (error: unknown) => options.toKnownError?.(error) ?? error;
  const send = (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
    sendError(toKnown(error), request, reply, toBody);
  const server: Server = Fastify({
    loggerInstance: options.logger as FastifyBaseLogger,
    logController: new OwnLogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: toRequestId,
    // Proxies may send the whole URL; servers have to take it (RFC 9112, 3.2.2).
    rewriteUrl: ({ url = '/' }) => url.replace(/^https?:\/\/[^/?]*\/?/i, '/'),
    requestIdHeader: false,
    trustProxy: options.trustProxy,
    bodyLimit: options.bodyLimit,
    requestTimeout: longestRequestMs,
    connectionTimeout: options.idleTimeoutMs ?? 60_000,
    keepAliveTimeout: 65_000, // longer than the 60 s of common load balancers, which would otherwise use closed connections
    forceCloseConnections: 'idle',
    return503OnClosing: false, // a request on a connection that is still open is answered
    routerOptions: { maxParamLength: 4096, ignoreTrailingSlash: false },
    http: {
      highWaterMark: 16 * 1024, // bytes of a reply that wait for a slow reader: thousands may be slow at once
      maxHeaderSize: maxUrlLength + 64 * 1024,
      headersTimeout: requestTimeoutMs,
      requestTimeout: longestRequestMs,
      connectionsCheckingInterval: 1_000, // Node's own is 30 s, and a request may be that much later
    },
    onProtoPoisoning: 'remove',
    onConstructorPoisoning: 'remove',
    frameworkErrors: (error, request, reply) => {
      reply.headers(browserHeaders).header('x-request-id', request.id);
      return send(error, request, reply);
    },
    clientErrorHandler: (error, socket) => refuseMalformed(error, socket, toBody),
  }).withTypeProvider<ZodTypeProvider>();

  server.addHook('onReady', (done) => {
    containUpgrades(server);
    done();
  });
  // Without a listener Node ends the connection without a word.
  server.server.on('connect', (_request, socket) =>
    endWith(new AppError('METHOD_NOT_ALLOWED', 'This server is no proxy.'), ignoreFaults(socket), toBody),
  );
  server.server.on('timeout', cutOffIdle);
  const pages = new Set<string>();
  server.decorate('pages', pages);
  server.addHook('onRoute', ({ url, method }) => {
    if ([method].flat().includes('GET')) pages.add(toFirstSegment(url));
  });
  server.setValidatorCompiler(validatorCompiler);
  server.setSerializerCompiler(serializerCompiler);
  server.setErrorHandler(send);
  // Thrown, so that hooks of errors see it too.
  server.setNotFoundHandler(async ({ method, url }) => {
    throw new AppError('NOT_FOUND', `There is no ${method} ${pathOf(url)} here.`);
  });

  if (options.tracing) addTracing(server);
  if (isUpload) limitRequestTime(server, { requestTimeoutMs, isUpload });
  server.addHook('onRequest', (request, reply, done) => {
    reply.headers(browserHeaders).header('x-request-id', request.id);
    if (request.url.length > maxUrlLength)
      done(new AppError('URI_TOO_LONG', `The URL is longer than ${maxUrlLength} bytes.`));
    else if (countHosts(request.raw.rawHeaders) > 1)
      done(new AppError('BAD_REQUEST', 'The request has more than one Host header.'));
    else done();
  });
  const { registry: metrics, countReply } = createMetrics(options.name);
  const logRequest = createRequestLog(options.logger);
  server.addHook('onResponse', (request, reply, done) => {
    const { id, method, url } = request;
    const { statusCode: status, elapsedTime: elapsedMs } = reply;
    logRequest({ id, method, url, status, elapsedMs, caller: callerOf(request.raw) });
    countReply(request, reply);
    if (status >= 400) server.noteFailure({ requestId: id, method, url, status, elapsedMs }, toldOf(request));
    // Where there are sockets, Node hands every handshake over and never ends its connection, not even after the client has left.
    if (request.headers.upgrade !== undefined && server.server.listenerCount('upgrade') > 0)
      request.raw.socket.destroySoon();
    done();
  });

  acceptEmptyJson(server);
  if (options.allowedHosts) checkHosts(server, options.allowedHosts);
  refuseForeignPages(server, options.cors?.origins ?? []);
  if (options.cors) await addCors(server, options.cors);
  const recentErrors = addRecentErrors(server, toKnown);
  const operatorGuard = addOperatorGuards(server, options, metrics);

  addLifecycle(server, options);
  for (const probe of options.probes ?? []) probe.addMetrics?.(metrics);
  server.get('/metrics', { onRequest: operatorGuard }, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.metrics()),
  );
  server.get('/metrics/errors', { onRequest: operatorGuard }, async (_request, reply) =>
    reply.send({ errors: recentErrors() }),
  );
  const ofLog = { onRequest: server.operatorGuardFor('operator'), schema: { querystring: wantedLinesSchema } };
  server.get('/metrics/log', ofLog, async ({ query: { requestId, time } }, reply) => {
    const until = time === undefined ? Number.POSITIVE_INFINITY : Date.parse(time);
    const failed = recentErrors().find((error) => error.requestId === requestId && error.time === time);
    const since = failed ? until - failed.ms : 0;
    return reply.send({ lines: findLines(options.name, { requestId, since, until }) });
  });
  return server;
}

// Node takes its own error listener from a socket that it hands over; a fault without a listener ends the process.
// Not on every socket: a second listener delays the collection of what the requests of a connection leave behind.
function ignoreFaults<T extends Duplex>(socket: T): T {
  return socket.on('error', () => {});
}

/** Libraries throw where an upgrade follows a request that is not answered yet: the socket has a response. */
function containUpgrades({ server }: Server): void {
  const handlers = server.listeners('upgrade');
  server.removeAllListeners('upgrade');
  for (const handle of handlers)
    server.on('upgrade', (request, socket, head) => {
      try {
        handle(request, ignoreFaults(socket), head);
      } catch {
        socket.destroy();
      }
    });
}

/** `/health/now` is `health`. */
export function toFirstSegment(path: string): string {
  const end = path.indexOf('/', 1);
  return end === -1 ? path.slice(1) : path.slice(1, end);
}

// Node fires `timeout` only if nothing was sent or read since. Without a listener it ends the connection, also one
// whose answer (`_httpMessage`) is still being made.
function cutOffIdle(socket: Socket & { _httpMessage?: ServerResponse | null }): void {
  if (!socket._httpMessage || socket.writableLength > 0) socket.destroy();
}

/** More than any MiB that people write. A small value takes fifty times its text in memory. */
const maxBodyValues = 50_000;

function addOperatorGuards(server: Server, options: ServerOptions, metrics: Registry): OperatorGuard {
  const wrongTokens = new Counter({
    name: 'operator_tokens_refused_total',
    help: 'Wrong operator tokens that were sent',
    registers: [metrics],
  });
  const toGuard = createOperatorGuards({
    token: options.operatorToken,
    file: options.operatorsFile,
    trustsLocal: options.trustsLocal ?? true,
    onWrongToken: () => wrongTokens.inc(),
  });
  const guards = new Set<unknown>();
  const keep = (guard: OperatorGuard) => {
    guards.add(guard);
    return guard;
  };
  const operatorGuard = keep(toGuard());
  server.decorate('metrics', metrics).decorate('operatorGuard', operatorGuard);
  server.decorate('operatorGuardFor', (role: OperatorRole) => keep(toGuard(role)));
  server.decorateRequest('operator', null);
  const isGuarded = ({ onRequest }: RouteOptions) => [onRequest].flat().some((hook) => guards.has(hook));
  server.addHook('onRoute', (route) => {
    if (isGuarded(route)) route.config = { ...route.config, forOperators: true };
  });
  if (options.cors) withoutPreflight(server, isGuarded);
  return operatorGuard;
}

/** Routes of operators have no CORS, so a preflight for them is answered without it too. */
function withoutPreflight(server: Server, isGuarded: (route: RouteOptions) => boolean): void {
  const paths = new Set<string>();
  server.addHook('onRoute', function addPlainOptions(this: FastifyInstance, route) {
    if (!isGuarded(route) || paths.has(route.url)) return;
    paths.add(route.url);
    this.options(route.url, { config: { cors: false }, schema: { hide: true } }, async (_request, reply) =>
      reply.callNotFound(),
    );
  });
}

/** An empty body is accepted, because clients send the header with every request. */
function acceptEmptyJson(server: Server): void {
  server.removeAllContentTypeParsers();
  const parseJson = server.getDefaultJsonParser('remove', 'remove');
  addTextParser(server, 'application/json', (request, body, done) => {
    const { isTooDeep, values } = measureJson(body);
    if (body === '') done(null, undefined);
    else if (isTooDeep) done(new AppError('BAD_REQUEST', 'The body is nested too deep.'));
    else if (values > maxBodyValues) done(new AppError('PAYLOAD_TOO_LARGE', 'The body has too many values.'));
    else parseJson(request, body, done);
  });
}

/** What is not HTTP never reaches a route; it gets the same error body, and the connection ends. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket, toBody: (error: AppError) => object): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const malformed = Object.assign(new Error('The request is not valid HTTP.'), { statusCode: status });
  endWith(toAppError(malformed), socket, toBody);
}

function endWith(shown: AppError, socket: Duplex, toBody: (error: AppError) => object): void {
  const body = JSON.stringify(toBody(shown));
  const head = [
    `HTTP/1.1 ${shown.statusCode} ${toErrorBody(shown).error}`,
    `X-Request-Id: ${toRequestId({ headers: {} })}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

let kept: object | undefined;

// Keeps an object of `process.nextTick` alive: otherwise V8 drops its hidden class, which costs each request 7 µs.
function keepTickShape(): void {
  if (kept) return;
  const hook = createHook({
    init(_id, type, _trigger, resource) {
      if (type === 'TickObject') kept = resource;
    },
  }).enable();
  process.nextTick(() => {});
  hook.disable();
}
