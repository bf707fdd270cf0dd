import type { IncomingHttpHeaders } from 'node:http';
import { isDirectFromLoopback } from '@palaver/service-kit';
import type { FastifyRequest } from 'fastify';

/** Where the console reaches each service, by the name in its own path: `/api/<name>/…`. */
export type Targets = Record<'ussd-gateway' | 'agent' | 'gateway', string>;

type Headers = Record<string, string | string[] | undefined>;

const hopByHop = [
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/**
 * The headers a service gets for a request of the browser.
 *
 * Without OPERATOR_TOKEN the operators' routes answer only to direct connections from the service's own machine, and the
 * console's connection is one. So it says for whom it asks, which closes them, unless the browser itself is on this machine and
 * came directly. A page elsewhere whose name was made to point here (DNS rebinding) shows in the Host header and counts as far away.
 */
export function toServiceHeaders(request: FastifyRequest, headers: Headers): IncomingHttpHeaders {
  const passed = withoutHopByHop(headers);
  passed['x-request-id'] = request.id;
  if (!isDirectFromLoopback(request.raw) || !isLoopbackName(request.headers.host))
    passed['x-forwarded-for'] = request.ip;
  return passed;
}

/** The same for a WebSocket, whose handshake with the agent is one of its own. */
export function toSocketHeaders(request: FastifyRequest): Record<string, string> {
  const passed = Object.entries(toServiceHeaders(request, request.headers));
  return Object.fromEntries(
    passed.filter(
      (entry): entry is [string, string] =>
        typeof entry[1] === 'string' && entry[0] !== 'host' && !entry[0].startsWith('sec-websocket-'),
    ),
  );
}

/** A service's headers as they go on to the browser; addresses it points to are put under the console's own path. */
export function toBrowserHeaders(headers: Headers, prefix: string): IncomingHttpHeaders {
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

function isLoopbackName(host: string | undefined): boolean {
  const name = (host ?? '').replace(/:\d+$/, '').toLowerCase();
  return name === 'localhost' || name === '[::1]' || /^127(\.\d{1,3}){3}$/.test(name);
}
