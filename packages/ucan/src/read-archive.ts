import { decodeLink } from '@ucanto/core';
import { equalBytes, startsWithBytes } from './bytes.ts';
import { malformed } from './refusal.ts';

export interface ArchiveBlock {
  readonly digest: Uint8Array;
  readonly bytes: Uint8Array;
}

export interface UcanBlock extends ArchiveBlock {
  readonly link: ReturnType<typeof decodeLink>;
}

export interface Archive {
  /** The root of the CAR: it names the UCAN that is the token. */
  readonly root: ArchiveBlock;
  /** All other blocks by CID. */
  readonly ucans: ReadonlyMap<string, UcanBlock>;
}

/** The token and its proofs. */
const maxUcans = 20;
// CIDv1, DAG-CBOR, SHA-256 of 32 bytes: the only kind of link a ucanto archive is built of.
const cidPrefix = Uint8Array.of(0x01, 0x71, 0x12, 0x20);
const cidBytes = cidPrefix.length + 32;
// { roots: [CID], version: 1 } in DAG-CBOR, with its length before it; the 36 bytes of the CID are in the middle.
const headerStart = Uint8Array.of(58, 0xa2, 0x65, ...ascii('roots'), 0x81, 0xd8, 0x2a, 0x58, 0x25, 0x00);
const headerEnd = Uint8Array.of(0x67, ...ascii('version'), 0x01);
// { "ucan@0.9.1": CID } in DAG-CBOR: what ucanto puts at the root of an archive.
const variantStart = Uint8Array.of(0xa1, 0x6a, ...ascii('ucan@0.9.1'), 0xd8, 0x2a, 0x58, 0x25, 0x00);

/**
 * Reads a CAR (version 1) that holds one ucanto archive. Stricter than the CAR format on purpose: one token has one
 * sequence of bytes per order of its blocks, so nothing can be added, doubled or written differently in transit.
 */
export function readArchive(bytes: Uint8Array): Archive {
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

/** The CID of the UCAN that an archive's root block names. */
export function readVariant({ bytes }: ArchiveBlock): string {
  if (bytes.length !== variantStart.length + cidBytes || !startsWithBytes(bytes, variantStart)) {
    malformed('its root is not a UCAN of version 0.9.1');
  }
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
