import { lookup as dnsLookup } from 'node:dns';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { type FetchedDocument, readDocument, unreachable } from '../did/fetch-document.ts';
import type { PublicDocumentRequest } from '../web/fetch-public-document.ts';
import { createHostLookup } from './host-lookup.ts';
import { guardLookup, isPublicAddress } from './public-address.ts';

/**
 * Fetches a document from a host that a stranger named. The address is checked in the very lookup the connection uses,
 * so a name that answers differently the second time gains nothing.
 */
export async function fetchPublicDocument(
  { url, timeoutMs, allowPrivate, dnsServers }: PublicDocumentRequest,
  ownLookup?: LookupFunction,
): Promise<FetchedDocument> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  // An address in the URL itself is never looked up.
  if (!allowPrivate && isIP(host) && !isPublicAddress(host)) return unreachable('no public address');
  const signal = AbortSignal.timeout(timeoutMs);
  // A host that the operator named may be in the machine's own table of hosts.
  const lookup =
    ownLookup ?? (allowPrivate ? dnsLookup : createHostLookup({ signal, ...(dnsServers && { servers: dnsServers }) }));
  try {
    const request = get(url, {
      signal,
      agent: false,
      headers: { accept: 'application/json' },
      lookup: allowPrivate ? lookup : guardLookup(lookup),
    });
    // What goes wrong after the answer has begun reaches the reader of the body; nobody else listens by then.
    request.on('error', () => {});
    const [response]: IncomingMessage[] = await once(request, 'response', { signal });
    try {
      if (response?.statusCode !== 200) return unreachable(`status ${response?.statusCode}`);
      return await readDocument(response);
    } finally {
      request.destroy();
    }
  } catch {
    return unreachable(signal.aborted ? 'no answer in time' : 'no connection');
  }
}
