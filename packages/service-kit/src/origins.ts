import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import corsPlugin, { type FastifyCorsOptions } from '@fastify/cors';
import { AppError } from '@palaver/contract';
import { corsMethods, corsRequestHeaders } from '@palaver/contract/internal';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { isLoopbackAddress, isLoopbackHost } from './client-address.ts';

const localPorts = /^http:\/\/(?:localhost|127\.0\.0\.1):\*$/;

/** `CORS_ORIGIN`: `*`, or a list of origins; `http://localhost:*` is every port of this machine. */
export function envOrigins() {
  return z
    .string()
    .transform((text) => text.split(',').map((origin) => origin.trim().replace(/\/$/, '')))
    .refine(
      (origins) =>
        origins.every((origin) => origin === '*' || localPorts.test(origin) || URL.parse(origin)?.origin === origin),
      'expected * or a comma-separated list of origins such as https://app.example',
    );
}

export interface CorsOptions {
  origins: string[];
  /** Request headers allowed beside the shared ones; a pattern is for clients that send many of a kind. */
  extraHeaders?: (string | RegExp)[];
  exposedHeaders?: string[];
}

/** Cross-origin rules of the specification: any origin without credentials, or named origins with them. */
export async function addCors(server: FastifyInstance, cors: CorsOptions): Promise<void> {
  const { origins, extraHeaders = [] } = cors;
  const any = origins.includes('*');
  const names = [...corsRequestHeaders, ...extraHeaders.filter((header) => typeof header === 'string')];
  const patterns = extraHeaders.filter((header) => header instanceof RegExp);
  const options: FastifyCorsOptions = {
    origin: any ? '*' : toOriginRules(origins),
    credentials: !any,
    methods: [...corsMethods],
    allowedHeaders: names,
    exposedHeaders: toExposed(cors),
    maxAge: 600,
    strictPreflight: false, // an OPTIONS that is not a preflight is answered too
  };
  if (patterns.length === 0) await server.register(corsPlugin, options);
  else
    await server.register(corsPlugin, {
      delegator(request, done) {
        const asked = request.headers['access-control-request-headers']?.split(',') ?? [];
        const matching = asked.map((name) => name.trim()).filter((name) => patterns.some((each) => each.test(name)));
        done(null, matching.length === 0 ? options : { ...options, allowedHeaders: [...names, ...matching] });
      },
    });
}

/** What `addCors` adds to a reply, for replies without its hook: names and values alternating, except `Vary`. */
export function createCorsHeaders(cors: CorsOptions): (origin: string | undefined) => string[] {
  const { origins } = cors;
  const exposed = ['access-control-expose-headers', toExposed(cors).join(', ')];
  const any = ['access-control-allow-origin', '*', ...exposed];
  const others = ['access-control-allow-credentials', 'true', ...exposed];
  return (origin) => {
    if (origins.includes('*')) return any;
    return origin !== undefined && isNamedOrigin(origin, origins)
      ? ['access-control-allow-origin', origin, ...others]
      : others;
  };
}

function toExposed({ exposedHeaders = [] }: CorsOptions): string[] {
  return ['X-Request-Id', 'Retry-After', ...exposedHeaders];
}

export function toOriginRules(origins: string[]): (string | RegExp)[] {
  return origins.map((origin) =>
    localPorts.test(origin) ? new RegExp(`^${origin.slice(0, -2).replaceAll('.', '\\.')}(:\\d{1,5})?$`) : origin,
  );
}

function isNamedOrigin(origin: string | undefined, origins: string[]): boolean {
  if (origin === undefined) return false;
  return toOriginRules(origins).some((rule) => (typeof rule === 'string' ? rule === origin : rule.test(origin)));
}

// A request from this machine has rights because it is local, but a web page can make an operator's browser send one too: a
// page elsewhere shows in Origin and Sec-Fetch-Site, a name that was made to point here in Host.

const forwardingHeader =
  /^(?:forwarded|via|cdn-loop|x-(?:original-)?forwarded.*|x-envoy-.*|(?:.*-)?(?:real|client|connecting|user)-?ip)$/;
const harmlessMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

interface LocalRequest extends Pick<IncomingMessage, 'headers' | 'rawHeaders' | 'socket' | 'url'> {
  /** The URL of the request line, where the server has taken a host out of `url`. */
  originalUrl?: string | undefined;
}

/** Whether it came from this machine, to a loopback host name, without a proxy and from no page of another origin. */
export function isTrustedLocal(request: LocalRequest): boolean {
  const { headers, socket } = request;
  return (
    isLoopbackAddress(socket.remoteAddress ?? '') &&
    hasOneHost(request) &&
    !isForwarded(headers) &&
    isLoopbackHost(toHostName(headers.host)) &&
    !hasForeignOrigin(headers) &&
    !isForeignOrigin(headers)
  );
}

export function isForwarded(headers: IncomingHttpHeaders): boolean {
  return Object.keys(headers).some((name) => forwardingHeader.test(name));
}

/** No browser names two hosts, or one in the request line; such a request targets a proxy that reads the other one. */
function hasOneHost({ rawHeaders, url, originalUrl = url }: LocalRequest): boolean {
  return countHosts(rawHeaders) === 1 && originalUrl?.startsWith('/') === true;
}

/** Node keeps the first `Host` header; of several, a proxy may have read another one (RFC 9112, 3.2). */
export function countHosts(rawHeaders: string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

/** Whether a page of another origin sent the request. Browsers say so themselves; other programs say nothing. */
export function isForeignOrigin(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  // Its comparison wins over ours: a reverse proxy may have renamed the host.
  return site === undefined ? hasForeignOrigin(headers) : site !== 'same-origin' && site !== 'none';
}

function hasForeignOrigin({ origin, host }: IncomingHttpHeaders): boolean {
  return origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host?.toLowerCase());
}

function toHostName(host: string | undefined): string {
  return (host ?? '')
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1');
}

/** Whether `Host` names this service. Addresses and `localhost` cannot be made to point elsewhere, so they always pass. */
export function isServedHost(host: string | undefined, allowed: string[]): boolean {
  const name = toHostName(host);
  return (
    name === '' || name === 'localhost' || name.endsWith('.localhost') || isIP(name) !== 0 || allowed.includes(name)
  );
}

export function createHostCheck(allowed: string[]): (host: string | undefined) => boolean {
  // The last one that was served: nearly all requests name the same.
  let served: string | undefined;
  return (host) => {
    const isServed = host === served || isServedHost(host, allowed);
    if (isServed) served = host;
    return isServed;
  };
}

/** Probes and proxies use names of their own, and these routes have nothing that a page elsewhere could use. */
const openPaths = new Set<string | undefined>(['/', '/health', '/ready']);

export function checkHosts(server: FastifyInstance, allowed: string[]): void {
  const isServed = createHostCheck(allowed);
  server.addHook('onRequest', ({ headers: { host }, routeOptions: { url } }, _reply, done) => {
    done(
      isServed(host) || openPaths.has(url)
        ? undefined
        : new AppError('FORBIDDEN', 'This host name is not served here; see ALLOWED_HOSTS.'),
    );
  });
}

export function isAllowedPage(headers: IncomingHttpHeaders, origins: string[]): boolean {
  return origins.includes('*') || isNamedOrigin(headers.origin, origins) || !isForeignOrigin(headers);
}

/** Refuses changes and sockets, which CORS leaves open, to pages of another origin unless CORS names it. */
export function refuseForeignPages(server: FastifyInstance, origins: string[]): void {
  server.addHook('onRequest', ({ method, headers }, _reply, done) => {
    const isHarmless = harmlessMethods.has(method) && headers.upgrade === undefined;
    const isRefused = !isHarmless && !isAllowedPage(headers, origins);
    done(isRefused ? new AppError('FORBIDDEN', 'Pages of other origins may not send this request.') : undefined);
  });
}
