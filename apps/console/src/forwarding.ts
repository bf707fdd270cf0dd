import type { IncomingHttpHeaders } from 'node:http';
import { clientAddress } from '@palaver/service-kit';
import { isForeignOrigin, isTrustedLocal } from '@palaver/service-kit/internal';
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

const pageHeaders = ['origin', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest', 'sec-fetch-user'];

/**
 * The headers a service gets for a request of the browser.
 *
 * While there is neither a token nor a named operator, the operators' routes answer to whoever is trusted on the service's own
 * machine, and the console's connection comes from there. So it names the client, which closes them, unless the services would
 * trust the browser's own request. What the browser says of the page's origin is about the console, which has compared it.
 */
export function toServiceHeaders(request: FastifyRequest, headers: Headers): IncomingHttpHeaders {
  const passed = withoutHopByHop(headers);
  passed['x-request-id'] = request.id;
  if (!isTrustedLocal(request.raw)) passed['x-forwarded-for'] = clientAddress(request);
  if (!isForeignOrigin(request.headers)) for (const name of pageHeaders) delete passed[name];
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
