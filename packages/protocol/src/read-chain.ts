import { z } from 'zod';
import type { GatewayClient, GatewayFault } from './gateway-client.ts';

const blockSchema = z.object({ block: z.object({ header: z.object({ chain_id: z.string(), height: z.string() }) }) });
const accountSchema = z.object({ info: z.object({ account_number: z.string(), sequence: z.string() }) });
const attributeSchema = z.object({ key: z.string(), value: z.string() });
const responseSchema = z.object({
  height: z.string(),
  txhash: z.string(),
  code: z.number(),
  codespace: z.string(),
  raw_log: z.string(),
  events: z.array(z.object({ type: z.string(), attributes: z.array(attributeSchema) })).default([]),
});
const txSchema = z.object({
  tx: z.object({ body: z.object({ memo: z.string() }) }).nullish(),
  tx_response: responseSchema,
});

export type TxResponse = z.infer<typeof responseSchema>;
export type Read<T> = ({ ok: true } & T) | GatewayFault;

/**
 * Reads the name of the chain and the height of its latest block.
 *
 * @example
 * ```ts
 * import { createGatewayClient, readLatestBlock } from '@palaver/protocol';
 *
 * const block = await readLatestBlock(createGatewayClient({ url: 'http://127.0.0.1:1317' }));
 * console.log(block.ok ? block.height : block.message);
 * ```
 */
export async function readLatestBlock(gateway: GatewayClient): Promise<Read<{ chainId: string; height: number }>> {
  const result = await gateway.get('/cosmos/base/tendermint/v1beta1/blocks/latest');
  if (!result.ok) return result;
  const { header } = blockSchema.parse(result.value).block;
  return { ok: true, chainId: header.chain_id, height: Number(header.height) };
}

/**
 * Reads what a signature of an account needs, as it was in a block, or the latest.
 *
 * @example
 * ```ts
 * import { type GatewayClient, readAccount } from '@palaver/protocol';
 *
 * export async function sequenceOf(gateway: GatewayClient, address: string) {
 *   const account = await readAccount(gateway, address);
 *   return account.ok ? account.sequence : undefined;
 * }
 * ```
 */
export async function readAccount(
  gateway: GatewayClient,
  address: string,
  height?: number,
): Promise<Read<{ accountNumber: number; sequence: number }>> {
  const result = await gateway.get(`/cosmos/auth/v1beta1/account_info/${encodeURIComponent(address)}`, { height });
  if (!result.ok) return result;
  const { account_number, sequence } = accountSchema.parse(result.value).info;
  return { ok: true, accountNumber: Number(account_number), sequence: Number(sequence) };
}

/**
 * Reads a transaction that is in a block.
 *
 * @example
 * ```ts
 * import { type GatewayClient, readTx } from '@palaver/protocol';
 *
 * export async function isIncluded(gateway: GatewayClient, hash: string) {
 *   const found = await readTx(gateway, hash);
 *   return found.ok && found.response.code === 0;
 * }
 * ```
 */
export async function readTx(gateway: GatewayClient, hash: string): Promise<Read<{ response: TxResponse }>> {
  const result = await gateway.get(`/cosmos/tx/v1beta1/txs/${hash}`);
  return result.ok ? { ok: true, response: txSchema.parse(result.value).tx_response } : result;
}

/**
 * Sends signed bytes; the answer is that of the node's first check.
 *
 * @example
 * ```ts
 * import { broadcastTx, type GatewayClient } from '@palaver/protocol';
 *
 * export const send = (gateway: GatewayClient, bytes: Uint8Array) =>
 *   broadcastTx(gateway, Buffer.from(bytes).toString('base64'));
 * ```
 */
export async function broadcastTx(
  gateway: GatewayClient,
  bytes: string,
): Promise<Read<{ code: number; codespace: string; log: string }>> {
  const result = await gateway.broadcast(bytes);
  if (!result.ok) return result;
  const { tx_response: response } = z.object({ tx_response: responseSchema }).parse(result.value);
  return { ok: true, code: response.code, codespace: response.codespace, log: response.raw_log };
}

const searchSchema = z.object({
  txs: z.array(z.object({ body: z.object({ memo: z.string() }).nullish() })),
  tx_responses: z.array(responseSchema),
  total: z.string(),
});

/** The transaction in a block that used up a sequence of an account; undefined if the node's index has none. */
export async function readTxOfSequence(
  gateway: GatewayClient,
  { address, sequence }: { address: string; sequence: number },
): Promise<Read<{ response: TxResponse | undefined }>> {
  const query = { query: `tx.acc_seq='${address}/${sequence}'`, page: '1', limit: '1' };
  const result = await gateway.get('/cosmos/tx/v1beta1/txs', { query, timeoutMs: 10_000 });
  return result.ok ? { ok: true, response: searchSchema.parse(result.value).tx_responses[0] } : result;
}

/** Chains take U+0000 in a memo; PostgreSQL stores no text that has it. */
export const toStorable = (text: string) => text.replaceAll('\0', '');

/** Coins that reached an address in a transaction. */
export interface Transfer {
  hash: string;
  /** Its place among the transfers to the address in this transaction: one message may pay several times. */
  index: number;
  height: number;
  memo: string;
  sender: string;
  /** As the chain writes it: `700uixo,3ibc/…`. */
  amount: string;
}

/** Each divides the one before it, so a smaller page begins where a larger one would have. */
const pageSizes = [100, 50, 25, 5, 1];
const maxBytes = 16_000_000;
/** Nodes accept transactions of at most 1 MB by default, and print one with its events at many times that. */
const maxBytesOfOne = 64_000_000;

/**
 * Everything that was paid to an address in a range of blocks, in the order of the chain.
 *
 * @example
 * ```ts
 * import { type GatewayClient, readTransfers } from '@palaver/protocol';
 *
 * export const paymentsTo = (gateway: GatewayClient, address: string) =>
 *   readTransfers(gateway, { address, from: 100, to: 200 });
 * ```
 */
export async function readTransfers(
  gateway: GatewayClient,
  { address, from, to }: { address: string; from: number; to: number },
): Promise<Read<{ transfers: Transfer[] }>> {
  const query = `transfer.recipient='${address}' AND tx.height>=${from} AND tx.height<=${to}`;
  const transfers: Transfer[] = [];
  let count = 0;
  let largestTotal = 0;
  let [size = 1, ...smaller] = pageSizes;
  for (let read = 0; ; ) {
    const options = { query, page: String(read / size + 1), limit: String(size), order_by: 'ORDER_BY_ASC' };
    const result = await gateway.get('/cosmos/tx/v1beta1/txs', {
      query: options,
      timeoutMs: 10_000,
      maxBytes: size === 1 ? maxBytesOfOne : maxBytes,
    });
    if (!result.ok && result.kind === 'too-large' && size > 1) {
      [size = 1, ...smaller] = smaller;
      continue;
    }
    if (!result.ok) return result;
    const { txs, tx_responses: responses, total } = searchSchema.parse(result.value);
    for (const [index, response] of responses.entries()) {
      if (response.code === 0) transfers.push(...toTransfers(response, txs[index]?.body?.memo ?? '', address));
    }
    read += size;
    count += responses.length;
    largestTotal = Math.max(largestTotal, Number(total));
    if (count >= largestTotal) return { ok: true, transfers };
    // Pages may come from several nodes, one of which may not have indexed what another has.
    const message = `${count} of ${largestTotal} transactions were found`;
    if (responses.length < size) return { ok: false, kind: 'unavailable', status: undefined, message };
  }
}

/** Transfers of fees belong to no message and are left out. */
function toTransfers(response: TxResponse, memo: string, address: string): Transfer[] {
  return response.events
    .filter(({ type }) => type === 'transfer')
    .map(({ attributes }) => Object.fromEntries(attributes.map(({ key, value }) => [key, value])))
    .filter((of) => of.recipient === address && of.msg_index !== undefined)
    .map(({ sender = '', amount = '' }, index) => {
      const texts = { memo: toStorable(memo), sender: toStorable(sender), amount: toStorable(amount) };
      return { hash: response.txhash, index, height: Number(response.height), ...texts };
    });
}
