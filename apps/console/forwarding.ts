import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isDirectFromLoopback } from '@palaver/service-kit';

/** Where the console reaches each service, by the name in its own path: `/api/<name>/…`. */
export type Targets = Record<'ussd-gateway' | 'agent' | 'gateway', string>;

const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * The headers a service gets for a request of the browser.
 *
 * Without OPERATOR_TOKEN the operators' routes answer only to direct connections from the service's own machine, and the
 * console's connection is one. So it says for whom it asks, which closes them, unless the browser itself is on this machine and
 * came directly. A page elsewhere whose name was made to point here (DNS rebinding) shows in the Host header and counts as far away.
 */
export function toServiceHeaders(request: IncomingMessage, target: URL): IncomingHttpHeaders {
  const headers = withoutHopByHop(request.headers);
  headers.host = target.host;
  if (isDirectFromLoopback(request) && isLoopbackName(request.headers.host)) return headers;
  const chain = [request.headers['x-forwarded-for'], request.socket.remoteAddress ?? 'unknown'];
  return { ...headers, 'x-forwarded-for': chain.filter(Boolean).join(', ') };
}

/** A service's headers as they go on to the browser; addresses it points to are put under the console's own path. */
export function toBrowserHeaders(headers: IncomingHttpHeaders, prefix: string): IncomingHttpHeaders {
  const passed = withoutHopByHop(headers);
  if (passed.location?.startsWith('/')) passed.location = prefix + passed.location;
  return passed;
}

function withoutHopByHop(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = String(headers.connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.has(name) && !named.includes(name)));
}

function isLoopbackName(host: string | undefined): boolean {
  const name = (host ?? '').replace(/:\d+$/, '').toLowerCase();
  return name === 'localhost' || name === '[::1]' || /^127(\.\d{1,3}){3}$/.test(name);
}
