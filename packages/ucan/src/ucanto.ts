// Our own types as ucanto's. They are the same objects; only the declarations differ.
import type * as UCAN from '@ipld/dag-ucan';
import type { API } from '@ucanto/core';
import type { Signer } from './signer.ts';
import type { UcanView } from './ucan-view.ts';

export function toUcantoSigner(signer: Signer): UCAN.Signer {
  return signer as unknown as UCAN.Signer;
}

export function toUcantoDelegation({ delegation }: UcanView): API.Delegation {
  return delegation as API.Delegation;
}
