import * as UCAN from '@ipld/dag-ucan';
import { type API, CAR, CBOR } from '@ucanto/core';
import { encodeBase64 } from '../src/bytes.ts';
import { createSigner, parseToken, type Result, type Signer, type UcanView } from '../src/index.ts';
import { toUcantoSigner } from '../src/signer.ts';

export function unwrap<T>(result: Result<T, { message: string }>): T {
  if (result.error) throw new Error(result.error.message);
  return result.ok as T;
}

export async function parse(token: { serialized: string } | string): Promise<UcanView> {
  return unwrap(await parseToken(typeof token === 'string' ? token : token.serialized));
}

export const decode = (token: string): Uint8Array => new Uint8Array(Buffer.from(token, 'base64'));

export async function createSigners(count: number): Promise<Signer[]> {
  return await Promise.all(Array.from({ length: count }, () => createSigner()));
}

export const nowSeconds = (): number => Math.floor(Date.now() / 1000);

export type RawBlock = { cid: API.Link; bytes: Uint8Array };

/** A DAG-CBOR block with its true hash, whatever it holds. */
export async function toBlock(value: unknown): Promise<RawBlock> {
  const bytes = CBOR.encode(value);
  return { bytes, cid: (await CBOR.link(bytes)) as API.Link };
}

export async function toRawBlock(bytes: Uint8Array): Promise<RawBlock> {
  return { bytes, cid: (await CBOR.link(bytes as API.ByteView<unknown>)) as API.Link };
}

/** An archive of the given blocks whose root names the last one, as base64. */
export async function toArchive(blocks: RawBlock[], name = 'ucan@0.9.1'): Promise<string> {
  const root = await toBlock({ [name]: blocks.at(-1)?.cid });
  return encodeArchive(root, [...blocks, root]);
}

export function encodeArchive(root: RawBlock, blocks: RawBlock[]): string {
  const stored = new Map(blocks.map((block) => [block.cid.toString(), block]));
  return encodeBase64(CAR.encode({ roots: [root], blocks: stored } as never));
}

/** A UCAN block, signed for real over exactly the given fields, then written with any change the test wants. */
export async function signBlock(
  issuer: Signer,
  fields: Partial<UCAN.Payload> & { audience: string },
  rewrite: (model: Record<string, unknown>) => Record<string, unknown> = (model) => model,
): Promise<RawBlock> {
  const { audience, ...payload } = fields;
  const ucan = await UCAN.issue({
    issuer: toUcantoSigner(issuer),
    audience: { did: () => audience as API.DID },
    capabilities: payload.att ?? [{ can: 'oracle/chat', with: 'ixo:oracle' }],
    expiration: payload.exp === null ? Number.POSITIVE_INFINITY : (payload.exp ?? nowSeconds() + 300),
    facts: payload.fct ?? [],
    proofs: payload.prf ?? [],
    ...(payload.nbf !== undefined && { notBefore: payload.nbf }),
    ...(payload.nnc !== undefined && { nonce: payload.nnc }),
  });
  const model = CBOR.decode(UCAN.encode(ucan) as unknown as API.ByteView<Record<string, unknown>>);
  return await toBlock(rewrite(model));
}
