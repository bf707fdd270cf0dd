import * as UCAN from '@ipld/dag-ucan';
import { agentLimits, ucanLimits } from '@palaver/contract';
import { type API, Delegation, decodeLink, isLink } from '@ucanto/core';
import { Tokenizer } from 'cborg';
import { sha256 } from '#crypto';
import { decodeMultibaseOrBase64, equalBytes, startsWithBytes } from './bytes.ts';
import type { Capability, UcanFields, UcanView } from './capability.ts';
import { toDid } from './did/did-key.ts';
import { malformed, Refusal, type Result, toUcanError, type UcanError } from './result.ts';

const maxCharacters = agentLimits.tokenCharacters;
const maxChain = 8;

/**
 * Reads an invocation or a delegation: a ucanto CAR archive in base64, base64url or multibase. Every block is checked
 * against its hash, every proof is present, and nothing else is in the archive. A verifier decides whether it is valid.
 *
 * @example
 * ```ts
 * import { parseToken } from '@palaver/ucan';
 *
 * export async function issuerOf(text: string) {
 *   const { ok: token } = await parseToken(text);
 *   return token?.issuer;
 * }
 * ```
 */
export async function parseToken(text: string): Promise<Result<UcanView, UcanError>> {
  try {
    if (text.length > maxCharacters) malformed(`it is longer than ${maxCharacters} characters`);
    const bytes = decodeMultibaseOrBase64(text) ?? malformed('it is not base64 or multibase');
    const { root, ucans } = readArchive(bytes);
    checkItems(ucans.values());
    for (const { digest, bytes: block } of [root, ...ucans.values()])
      if (!equalBytes(await sha256(block), digest)) malformed('a block does not match its hash');
    return { ok: readChain(ucans, readVariant(root)) };
  } catch (error) {
    return { error: toUcanError(error) };
  }
}

/** Runs before anything is decoded: decoding, encoding and verifying a value costs a thousand times its one byte. */
function checkItems(blocks: Iterable<ArchiveBlock>): void {
  let items = 0;
  for (const { bytes } of blocks) {
    const tokens = new Tokenizer(bytes, {});
    for (; !tokens.done(); items += 1) {
      if (items === ucanLimits.tokenItems) malformed(`it has more than ${ucanLimits.tokenItems} values`);
      tokens.next();
    }
  }
}

/** The token with its proofs. Each UCAN is read once, however many others use it as a proof. */
function readChain(ucans: ReadonlyMap<string, UcanBlock>, token: string): UcanView {
  const blocks = new Map([...ucans].map(([cid, { link, bytes }]) => [cid, { cid: link, bytes } as API.Block]));
  const known = new Map<string, { view: UcanView; length: number }>();
  let capabilities = 0;

  // Always ends: a hash cannot contain itself, and there are few blocks.
  function readLink(cid: string): { view: UcanView; length: number } {
    const earlier = known.get(cid);
    if (earlier) return earlier;
    const root = blocks.get(cid) ?? malformed('its UCAN block is missing');
    const delegation = Delegation.create({ root: root as API.UCANBlock, blocks });
    const fields = readUcan(delegation.data, root.bytes);
    capabilities += fields.capabilities.length;
    if (capabilities > ucanLimits.tokenCapabilities)
      malformed(`it has more than ${ucanLimits.tokenCapabilities} capabilities with those of its proofs`);
    const cids = delegation.data.proofs.map(String);
    if (new Set(cids).size !== cids.length) malformed('it names a proof twice');
    if (!cids.every((proof) => blocks.has(proof))) throw new Refusal('UCAN_BAD_PROOF', 'a proof is missing');
    const proofs = cids.map(readLink);
    const length = 1 + Math.max(0, ...proofs.map((proof) => proof.length));
    if (length > maxChain) malformed(`its chain of proofs is longer than ${maxChain}`);
    const read = { view: { ...fields, cid, proofs: proofs.map(({ view }) => view), delegation }, length };
    known.set(cid, read);
    return read;
  }

  const { view } = readLink(token);
  if (known.size !== ucans.size) malformed('it has blocks that do not belong to it');
  return view;
}

type ArchiveBlock = { readonly digest: Uint8Array; readonly bytes: Uint8Array };

type UcanBlock = ArchiveBlock & { readonly link: ReturnType<typeof decodeLink> };

const maxUcans = 20;
// CIDv1, DAG-CBOR, SHA-256 of 32 bytes: the only kind of link a ucanto archive is built of.
const cidPrefix = Uint8Array.of(0x01, 0x71, 0x12, 0x20);
const cidBytes = cidPrefix.length + 32;
// { roots: [CID], version: 1 } in DAG-CBOR, with its length before it; the 36 bytes of the CID are in the middle.
const headerStart = Uint8Array.of(58, 0xa2, 0x65, ...ascii('roots'), 0x81, 0xd8, 0x2a, 0x58, 0x25, 0x00);
const headerEnd = Uint8Array.of(0x67, ...ascii('version'), 0x01);
// { "ucan@0.9.1": CID } in DAG-CBOR: what ucanto puts at the root of an archive.
const variantStart = Uint8Array.of(0xa1, 0x6a, ...ascii('ucan@0.9.1'), 0xd8, 0x2a, 0x58, 0x25, 0x00);

/** A CAR (version 1) with one ucanto archive, stricter than the format: one token has one sequence of bytes per order of its blocks. */
function readArchive(bytes: Uint8Array): { root: ArchiveBlock; ucans: ReadonlyMap<string, UcanBlock> } {
  if (!startsWithBytes(bytes, headerStart)) malformed('it is not a CAR archive with one root');
  const rootCid = readCid(bytes, headerStart.length);
  let at = headerStart.length + cidBytes;
  if (!startsWithBytes(bytes.subarray(at), headerEnd)) malformed('its CAR header is damaged');
  at += headerEnd.length;

  let root: ArchiveBlock | null = null;
  const ucans = new Map<string, UcanBlock>();
  while (at < bytes.length) {
    const { length, start } = readLength(bytes, at);
    at = start + length;
    if (length <= cidBytes || at > bytes.length) malformed('a block is cut short');
    const cid = readCid(bytes, start);
    const block = { digest: cid.subarray(cidPrefix.length), bytes: bytes.subarray(start + cidBytes, at) };
    if (equalBytes(cid, rootCid)) {
      if (root) malformed('a block appears twice');
      root = block;
    } else {
      const link = decodeLink(cid);
      if (ucans.has(link.toString())) malformed('a block appears twice');
      if (ucans.size === maxUcans) malformed(`it has more than ${maxUcans} UCANs`);
      ucans.set(link.toString(), { ...block, link });
    }
  }
  return { root: root ?? malformed('its root block is missing'), ucans };
}

/** The CID of the token, which the root block names. */
function readVariant({ bytes }: ArchiveBlock): string {
  if (bytes.length !== variantStart.length + cidBytes || !startsWithBytes(bytes, variantStart))
    malformed('its root is not a UCAN of version 0.9.1');
  return decodeLink(readCid(bytes, variantStart.length)).toString();
}

function readCid(bytes: Uint8Array, at: number): Uint8Array {
  const cid = bytes.subarray(at, at + cidBytes);
  if (cid.length < cidBytes || !startsWithBytes(cid, cidPrefix)) malformed('a block has an unknown kind of CID');
  return cid;
}

// An unsigned LEB128 number of at most three bytes: more than the longest token needs.
function readLength(bytes: Uint8Array, at: number): { length: number; start: number } {
  let length = 0;
  for (let count = 0; count < 3; count += 1) {
    const byte = bytes[at + count] ?? malformed('a block is cut short');
    length |= (byte & 0x7f) << (7 * count);
    // A last byte of zero pads the number: another way to write the same one.
    if (byte < 0x80) return byte === 0 ? malformed('a length is padded') : { length, start: at + count + 1 };
  }
  return malformed('a block is too long');
}

function ascii(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

const maxCapabilities = 32;
const maxFacts = 32;
const maxProofs = 16;
const maxNesting = 16;
// EdDSA as a varint, then the length of the signature, 64.
const signaturePrefix = Uint8Array.of(0xed, 0xa1, 0x03, 64);
const signatureBytes = signaturePrefix.length + 64;

// Only the block that ucanto writes: others share its signed JSON, and a revoked token would return under their CID.
function readUcan(ucan: UCAN.View, bytes: Uint8Array): UcanFields {
  const { model } = ucan;
  if (ucan.code !== UCAN.code) malformed('it is a JWT inside an archive');
  if (model.v !== '0.9.1') malformed('its UCAN version is not 0.9.1');
  if (model.s.length !== signatureBytes || !startsWithBytes(model.s, signaturePrefix))
    malformed('its signature is not an Ed25519 signature');
  const capabilities = model.att.map(readCapability);
  if (capabilities.length === 0 || capabilities.length > maxCapabilities)
    malformed(`it has not 1 to ${maxCapabilities} capabilities`);
  if (model.fct.length > maxFacts) malformed(`it has more than ${maxFacts} facts`);
  if (model.prf.length > maxProofs) malformed(`it has more than ${maxProofs} proofs`);
  checkValue(model.att);
  checkValue(model.fct);
  checkTime(model.exp ?? 0);
  checkTime(model.nbf ?? 0);
  // The signed form leaves an empty nonce out, the block does not.
  if (model.nnc === '') malformed('its nonce is empty');
  const fields = {
    issuer: readPrincipal(model.iss),
    audience: readPrincipal(model.aud),
    capabilities,
    expiration: model.exp,
    notBefore: model.nbf ?? null,
    nonce: model.nnc ?? null,
    facts: model.fct,
  };
  if (!equalBytes(UCAN.encode(ucan), bytes)) malformed('its encoding is not canonical');
  return fields;
}

function readPrincipal(principal: UCAN.Principal): string {
  const did = principal instanceof Uint8Array ? toDid(principal) : null;
  return did ?? malformed('its issuer or audience is not an Ed25519 did:key or another DID');
}

function readCapability(capability: UCAN.Capability): Capability {
  const { can, with: resource, nb, ...unknown } = capability;
  if (Object.keys(unknown).length > 0) malformed('a capability has unknown fields');
  if (nb === undefined) return { can, with: resource };
  if (nb === null || typeof nb !== 'object' || Array.isArray(nb) || isLink(nb) || ArrayBuffer.isView(nb))
    malformed('the conditions of a capability are not an object');
  return { can, with: resource, nb: nb as Record<string, unknown> };
}

function checkTime(seconds: number): void {
  if (!Number.isSafeInteger(seconds)) malformed('a time is out of range');
}

/** Refuses the values that two different CBOR forms share in JSON. */
function checkValue(value: unknown, depth = 0): void {
  if (depth > maxNesting) malformed(`its values are nested deeper than ${maxNesting}`);
  if (typeof value === 'bigint' || (Number.isInteger(value) && !Number.isSafeInteger(value)))
    malformed('a number is out of range');
  if (value === null || typeof value !== 'object' || isLink(value) || ArrayBuffer.isView(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    if (name === '/') malformed('a value is written like a link');
    checkValue(inner, depth + 1);
  }
}
