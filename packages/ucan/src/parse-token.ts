import { agentLimits, ucanLimits } from '@palaver/contract';
import { type API, Delegation } from '@ucanto/core';
import { Tokenizer } from 'cborg';
import { sha256 } from '#crypto';
import { equalBytes } from './bytes.ts';
import { decodeMultibaseOrBase64 } from './multibase.ts';
import { type ArchiveBlock, readArchive, readVariant, type UcanBlock } from './read-archive.ts';
import { readUcan } from './read-ucan.ts';
import { malformed, Refusal, toUcanError } from './refusal.ts';
import type { Result, UcanError } from './result.ts';
import type { UcanView } from './ucan-view.ts';

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
    for (const block of [root, ...ucans.values()]) await checkHash(block);
    const chain = new Chain(ucans);
    const view = chain.read(readVariant(root));
    if (chain.size !== ucans.size) malformed('it has blocks that do not belong to it');
    return { ok: view };
  } catch (error) {
    return { error: toUcanError(error) };
  }
}

async function checkHash({ digest, bytes }: ArchiveBlock): Promise<void> {
  if (!equalBytes(await sha256(bytes), digest)) malformed('a block does not match its hash');
}

/** Before anything is decoded: a value of one byte costs a thousand times that to decode, encode and verify. */
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

/** The UCANs of an archive, each read once however many others lean on it. */
class Chain {
  readonly #blocks: Map<string, API.Block>;
  readonly #read = new Map<string, { view: UcanView; length: number }>();
  #capabilities = 0;

  constructor(ucans: ReadonlyMap<string, UcanBlock>) {
    this.#blocks = new Map([...ucans].map(([cid, { link, bytes }]) => [cid, { cid: link, bytes } as API.Block]));
  }

  get size(): number {
    return this.#read.size;
  }

  read(cid: string): UcanView {
    return this.#readLink(cid).view;
  }

  // Always ends: a hash cannot contain itself, and there are few blocks.
  #readLink(cid: string): { view: UcanView; length: number } {
    const known = this.#read.get(cid);
    if (known) return known;
    const root = this.#blocks.get(cid) ?? malformed('its UCAN block is missing');
    const delegation = Delegation.create({ root: root as API.UCANBlock, blocks: this.#blocks });
    const fields = readUcan(delegation.data, root.bytes);
    this.#capabilities += fields.capabilities.length;
    if (this.#capabilities > ucanLimits.tokenCapabilities)
      malformed(`it has more than ${ucanLimits.tokenCapabilities} capabilities with those of its proofs`);
    const cids = delegation.data.proofs.map(String);
    if (new Set(cids).size !== cids.length) malformed('it names a proof twice');
    if (!cids.every((proof) => this.#blocks.has(proof))) throw new Refusal('UCAN_BAD_PROOF', 'a proof is missing');
    const proofs = cids.map((proof) => this.#readLink(proof));
    const length = 1 + Math.max(0, ...proofs.map((proof) => proof.length));
    if (length > maxChain) malformed(`its chain of proofs is longer than ${maxChain}`);
    const read = { view: { ...fields, cid, proofs: proofs.map(({ view }) => view), delegation }, length };
    this.#read.set(cid, read);
    return read;
  }
}
