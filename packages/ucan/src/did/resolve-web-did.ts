import { fetchPublicDocument } from '#fetch-public-document';
import { type DidKeys, listSigningKeys } from './did-document.ts';

interface WebDidRequest {
  readonly did: string;
  readonly privateHosts: readonly string[];
  readonly dnsServers?: readonly string[];
  readonly timeoutMs: number;
}

/** Fetches the document of a did:web from its host. */
export async function resolveWebDid({ did, privateHosts, dnsServers, timeoutMs }: WebDidRequest): Promise<DidKeys> {
  const url = toDocumentUrl(did);
  if (!url) return { error: { message: 'its issuer is not a usable did:web' } };
  const allowPrivate = privateHosts.includes(url.host) || privateHosts.includes(url.hostname);
  const { ok, error } = await fetchPublicDocument({
    url: url.href,
    timeoutMs,
    allowPrivate,
    ...(dnsServers && { dnsServers }),
  });
  return error ? { error } : listSigningKeys(ok, did);
}

/** Where a did:web has its document; null for what is not a host name with path segments. */
export function toDocumentUrl(did: string): URL | null {
  const [, host, port, path = ''] =
    /^did:web:([A-Za-z0-9.-]+)(?:%3A(\d{1,5}))?((?::[A-Za-z0-9._-]+)*)$/i.exec(did) ?? [];
  const segments = path.split(':').slice(1);
  if (!host || segments.some((segment) => /^\.+$/.test(segment))) return null;
  const place = segments.length > 0 ? segments.join('/') : '.well-known';
  const authority = port ? `${host}:${port}` : host;
  if (!URL.canParse(`https://${authority}/`)) return null;
  const url = new URL(`https://${authority}/${place}/did.json`);
  // The method allows names only. The URL parser has turned numbers of every notation into a dotted address by now.
  return /[a-z][a-z0-9-]*\.?$/.test(url.hostname) ? url : null;
}
