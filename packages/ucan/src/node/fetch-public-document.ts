import type { LookupFunction } from 'node:net';
import { type FetchedDocument, readDocument, unreachable } from '../did/fetch-document.ts';
import type { PublicDocumentRequest } from '../web/fetch-public-document.ts';
import { openPublic, RefusedAddressError } from './open-public.ts';

export async function fetchPublicDocument(
  { url, timeoutMs, allowPrivate, dnsServers }: PublicDocumentRequest,
  lookup?: LookupFunction,
): Promise<FetchedDocument> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const headers = { accept: 'application/json' };
    const response = await openPublic(new URL(url), { signal, headers, isAllowed: allowPrivate, dnsServers, lookup });
    try {
      if (response.statusCode !== 200) return unreachable(`status ${response.statusCode}`);
      return await readDocument(response);
    } finally {
      response.destroy();
    }
  } catch (error) {
    if (error instanceof RefusedAddressError) return unreachable('no public address');
    return unreachable(signal.aborted ? 'no answer in time' : 'no connection');
  }
}
