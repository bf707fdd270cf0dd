import { fetchPublicDocument } from '#fetch-public-document';
import { decodeBase64, decodeMultibase } from '../bytes.ts';
import type { Result } from '../result.ts';
import { toDidKey, untagPublicKey } from './did-key.ts';

/** The Ed25519 keys, as did:key, that may sign in the name of a DID. */
export type DidKeys = Result<readonly string[], { message: string; limited?: true }>;

// Signing a token is authentication or use of a capability; keys for assertionMethod or keyAgreement sign no tokens.
const purposes = ['authentication', 'capabilityInvocation', 'capabilityDelegation'];
const maxKeys = 16;

export function listSigningKeys(document: unknown, did: string): DidKeys {
  if (!isObject(document) || document.id !== did) return { error: { message: 'the DID document is not its issuer’s' } };
  const idOf = (method: unknown) => (isObject(method) && typeof method.id === 'string' ? absolute(method.id, did) : '');
  const methods = new Map(listOf(document.verificationMethod).map((method) => [idOf(method), method]));
  const keys = purposes
    .flatMap((purpose) => listOf(document[purpose]))
    .map((entry) => toPublicKey(typeof entry === 'string' ? methods.get(absolute(entry, did)) : entry))
    .filter((key) => key !== null)
    .map(toDidKey);
  if (keys.length === 0) return { error: { message: 'the DID document has no Ed25519 key that may sign' } };
  return { ok: [...new Set(keys)].slice(0, maxKeys) };
}

function toPublicKey(method: unknown): Uint8Array | null {
  if (!isObject(method)) return null;
  const { publicKeyMultibase, publicKeyBase58, publicKeyHex, publicKeyJwk } = method;
  const bytes = isObject(publicKeyJwk)
    ? isEd25519(publicKeyJwk) && typeof publicKeyJwk.x === 'string' && decodeBase64(publicKeyJwk.x)
    : (decode(publicKeyMultibase) ?? decode(publicKeyBase58, 'z') ?? decode(publicKeyHex, 'f'));
  if (!bytes) return null;
  // Newer documents tag the key with its kind, older ones leave that to the type.
  const isBare = bytes.length === 32 && (isObject(publicKeyJwk) || /^Ed25519/.test(String(method.type)));
  return isBare ? bytes : untagPublicKey(bytes);
}

const isEd25519 = ({ kty, crv }: Record<string, unknown>) => kty === 'OKP' && crv === 'Ed25519';

function decode(text: unknown, prefix = ''): Uint8Array | null {
  if (typeof text !== 'string' || text === '' || text.length > 128) return null;
  return decodeMultibase(prefix + text);
}

const absolute = (id: string, did: string): string => (id.startsWith('#') ? did + id : id);

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value.slice(0, 64) : []);

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

interface WebDidRequest {
  readonly did: string;
  readonly privateHosts: readonly string[];
  readonly dnsServers: readonly string[];
  readonly timeoutMs: number;
}

export async function resolveWebDid({ did, privateHosts, dnsServers, timeoutMs }: WebDidRequest): Promise<DidKeys> {
  const url = toDocumentUrl(did);
  if (!url) return { error: { message: 'its issuer is not a usable did:web' } };
  const allowPrivate = privateHosts.includes(url.host) || privateHosts.includes(url.hostname);
  const { ok, error } = await fetchPublicDocument({ url: url.href, timeoutMs, allowPrivate, dnsServers });
  return error ? { error } : listSigningKeys(ok, did);
}

/** Where a did:web has its document; null unless it is a host name with path segments. */
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
