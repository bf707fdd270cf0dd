import * as UCAN from '@ipld/dag-ucan';
import { isLink } from '@ucanto/core';
import { equalBytes, startsWithBytes } from './bytes.ts';
import type { Capability } from './capability.ts';
import { toDid } from './did/did-key.ts';
import { malformed } from './refusal.ts';
import type { UcanFields } from './ucan-view.ts';

const maxCapabilities = 32;
const maxFacts = 32;
const maxProofs = 16;
const maxNesting = 16;
// EdDSA as a varint, then the length of the signature, 64.
const signaturePrefix = Uint8Array.of(0xed, 0xa1, 0x03, 64);
const signatureBytes = signaturePrefix.length + 64;

/**
 * Checks a decoded UCAN beyond what ucanto's own decoder does. A signature covers the JSON form of the fields, and
 * several CBOR blocks could give the same JSON; only the one block ucanto itself writes is accepted, so that a token
 * has one CID and a revoked one cannot come back under another.
 */
export function readUcan(ucan: UCAN.View, bytes: Uint8Array): UcanFields {
  const { model } = ucan;
  if (ucan.code !== UCAN.code) malformed('it is a JWT inside an archive');
  if (model.v !== '0.9.1') malformed('its UCAN version is not 0.9.1');
  if (model.s.length !== signatureBytes || !startsWithBytes(model.s, signaturePrefix)) {
    malformed('its signature is not an Ed25519 signature');
  }
  const capabilities = model.att.map(readCapability);
  if (capabilities.length === 0 || capabilities.length > maxCapabilities) {
    malformed(`it has not 1 to ${maxCapabilities} capabilities`);
  }
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
  if (nb === null || typeof nb !== 'object' || Array.isArray(nb) || isLink(nb) || ArrayBuffer.isView(nb)) {
    malformed('the conditions of a capability are not an object');
  }
  return { can, with: resource, nb: nb as Record<string, unknown> };
}

function checkTime(seconds: number): void {
  if (!Number.isSafeInteger(seconds)) malformed('a time is out of range');
}

/** Refuses the values that two different CBOR forms share in JSON. */
function checkValue(value: unknown, depth = 0): void {
  if (depth > maxNesting) malformed(`its values are nested deeper than ${maxNesting}`);
  if (typeof value === 'bigint' || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    malformed('a number is out of range');
  }
  if (value === null || typeof value !== 'object' || isLink(value) || ArrayBuffer.isView(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    if (name === '/') malformed('a value is written like a link');
    checkValue(inner, depth + 1);
  }
}
