import type { SignedArtifact } from '../core/credentials.ts';
import { type Bytes, concat, fromBase58, toBase64, toBase64Url, toUtf8, toVarint } from './bytes.ts';

export interface Capability {
  can: string;
  with: string;
  /** Caveats, as JSON. */
  nb?: { readonly [name: string]: Data };
}

/** Somebody who signs: a key in this browser, a hardware key, an application on a phone. */
export interface TokenSigner {
  /** A `did:key` of an Ed25519 key, or a DID whose document lists that key. */
  did: string;
  /** The 64 bytes of the Ed25519 signature. */
  sign(payload: Bytes): Promise<Uint8Array>;
}

export interface TokenOptions {
  signer: TokenSigner;
  audience: string;
  capabilities: readonly Capability[];
  expiration: number;
  nonce?: string;
}

const version = '0.9.1';
const ed25519Signature = toVarint(0xd0ed);
const didPrefix = toVarint(0x0d1d);

/** Signs a token without proofs: a UCAN 0.9.1 in a CAR archive, as `Authorization` and `x-ucan-delegation` carry it. */
export async function mintToken(options: TokenOptions): Promise<SignedArtifact> {
  const { signer, audience, expiration, capabilities, nonce = createNonce() } = options;
  // Abilities have no upper case.
  const att = capabilities.map((capability) => ({ ...capability, can: capability.can.toLowerCase() })) as Data[];
  const claims = { iss: signer.did, aud: audience, att, exp: expiration, prf: [], nnc: nonce };
  const signed = `${toPart({ alg: 'EdDSA', ucv: version, typ: 'JWT' })}.${toPart(claims)}`;
  const signature = await signer.sign(toUtf8(signed));
  const token = encodeCbor({
    ...claims,
    v: version,
    iss: toPrincipal(signer.did),
    aud: toPrincipal(audience),
    s: concat(ed25519Signature, toVarint(signature.length), signature),
  });
  const cid = await toCid(token);
  const root = encodeCbor({ [`ucan@${version}`]: new Link(cid) });
  const rootCid = await toCid(root);
  const car = concat(
    withLength(encodeCbor({ roots: [new Link(rootCid)], version: 1 })),
    withLength(concat(cid, token)),
    withLength(concat(rootCid, root)),
  );
  return { serialized: toBase64(car), expiresAt: expiration };
}

/** Two tokens of the same second and content stay two tokens: revoking one leaves the other. */
const createNonce = () => toBase64(crypto.getRandomValues(new Uint8Array(12)));

const withLength = (bytes: Uint8Array) => concat(toVarint(bytes.length), bytes);

/** CID version 1 of a DAG-CBOR block, by SHA-256. */
async function toCid(block: Uint8Array): Promise<Uint8Array> {
  return concat([1, 0x71, 0x12, 32], new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(block))));
}

function toPrincipal(did: string): Uint8Array {
  if (did.startsWith('did:key:z')) return fromBase58(did.slice('did:key:z'.length));
  if (!did.startsWith('did:')) throw new TypeError(`${did} is not a DID`);
  return concat(didPrefix, toUtf8(did.slice('did:'.length)));
}

const toPart = (value: Data) => toBase64Url(toUtf8(JSON.stringify(sortNames(value))));

/** DAG-JSON is JSON with the names of every object in order. */
function sortNames(value: Data): unknown {
  if (Array.isArray(value)) return value.map(sortNames);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value as Record<string, Data>);
  return Object.fromEntries(
    entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, entry]) => [name, sortNames(entry)]),
  );
}

class Link {
  readonly cid: Uint8Array;
  constructor(cid: Uint8Array) {
    this.cid = cid;
  }
}

type Data = string | number | boolean | null | Uint8Array | Link | readonly Data[] | { readonly [name: string]: Data };

/** DAG-CBOR, as much of it as tokens need: integers, no floats. */
function encodeCbor(value: Data): Uint8Array {
  if (value === null) return Uint8Array.of(0xf6);
  if (typeof value === 'boolean') return Uint8Array.of(value ? 0xf5 : 0xf4);
  if (typeof value === 'number') return encodeInteger(value);
  if (typeof value === 'string') return withHead(3, toUtf8(value));
  if (value instanceof Uint8Array) return withHead(2, value);
  if (value instanceof Link) return concat([0xd8, 42], withHead(2, concat([0], value.cid)));
  if (isList(value)) return concat(head(4, value.length), ...value.map(encodeCbor));
  const entries = Object.entries(value)
    .map(([name, entry]) => [toUtf8(name), entry] as const)
    .toSorted(([a], [b]) => a.length - b.length || compare(a, b));
  return concat(head(5, entries.length), ...entries.flatMap(([name, entry]) => [withHead(3, name), encodeCbor(entry)]));
}

function encodeInteger(value: number): Uint8Array {
  if (!Number.isSafeInteger(value)) throw new RangeError('a token holds integers only');
  return value < 0 ? head(1, -1 - value) : head(0, value);
}

const withHead = (kind: number, bytes: Uint8Array) => concat(head(kind, bytes.length), bytes);

/** Kind and length, in the shortest form. */
function head(kind: number, value: number): Uint8Array {
  const first = kind << 5;
  if (value < 24) return Uint8Array.of(first | value);
  const size = value < 0x100 ? 1 : value < 0x1_0000 ? 2 : value < 0x1_0000_0000 ? 4 : 8;
  const bytes = new Uint8Array(1 + size);
  bytes[0] = first | (24 + Math.log2(size));
  for (let at = size, rest = value; at > 0; at -= 1, rest = Math.floor(rest / 256)) bytes[at] = rest % 256;
  return bytes;
}

// `Array.isArray` does not narrow to readonly arrays.
const isList = (value: Data): value is readonly Data[] => Array.isArray(value);

function compare(a: Uint8Array, b: Uint8Array): number {
  const at = a.findIndex((byte, index) => byte !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}
