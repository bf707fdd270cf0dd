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
type Read<T> = ({ ok: true } & T) | GatewayFault;

export async function readLatestBlock(gateway: GatewayClient): Promise<Read<{ chainId: string; height: number }>> {
  const result = await gateway.get('/cosmos/base/tendermint/v1beta1/blocks/latest');
  if (!result.ok) return result;
  const { header } = blockSchema.parse(result.value).block;
  return { ok: true, chainId: header.chain_id, height: Number(header.height) };
}

export async function readAccount(
  gateway: GatewayClient,
  address: string,
): Promise<Read<{ accountNumber: number; sequence: number }>> {
  const result = await gateway.get(`/cosmos/auth/v1beta1/account_info/${encodeURIComponent(address)}`);
  if (!result.ok) return result;
  const { account_number, sequence } = accountSchema.parse(result.value).info;
  return { ok: true, accountNumber: Number(account_number), sequence: Number(sequence) };
}

export async function readTx(gateway: GatewayClient, hash: string): Promise<Read<{ response: TxResponse }>> {
  const result = await gateway.get(`/cosmos/tx/v1beta1/txs/${hash}`);
  return result.ok ? { ok: true, response: txSchema.parse(result.value).tx_response } : result;
}

/** Sends signed bytes; the answer is that of the node's first check. */
export async function broadcastTx(
  gateway: GatewayClient,
  bytes: string,
): Promise<Read<{ code: number; codespace: string; log: string }>> {
  const result = await gateway.post('/cosmos/tx/v1beta1/txs', { tx_bytes: bytes, mode: 'BROADCAST_MODE_SYNC' });
  if (!result.ok) return result;
  const { tx_response: response } = z.object({ tx_response: responseSchema }).parse(result.value);
  return { ok: true, code: response.code, codespace: response.codespace, log: response.raw_log };
}

const searchSchema = z.object({
  txs: z.array(z.object({ body: z.object({ memo: z.string() }).nullish() })),
  tx_responses: z.array(responseSchema),
  total: z.string(),
});

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

const pageSize = 100;

/** Everything that was paid to an address in a range of blocks, in the order of the chain. */
export async function readTransfers(
  gateway: GatewayClient,
  { address, from, to }: { address: string; from: number; to: number },
): Promise<Read<{ transfers: Transfer[] }>> {
  const query = `transfer.recipient='${address}' AND tx.height>=${from} AND tx.height<=${to}`;
  const transfers: Transfer[] = [];
  for (let page = 1; ; page += 1) {
    const options = { query, page: String(page), limit: String(pageSize), order_by: 'ORDER_BY_ASC' };
    const result = await gateway.get('/cosmos/tx/v1beta1/txs', {
      query: options,
      timeoutMs: 10_000,
      maxBytes: 16_000_000,
    });
    if (!result.ok) return result;
    const { txs, tx_responses: responses, total } = searchSchema.parse(result.value);
    for (const [index, response] of responses.entries()) {
      if (response.code === 0) transfers.push(...toTransfers(response, txs[index]?.body?.memo ?? '', address));
    }
    if (responses.length === 0 || page * pageSize >= Number(total)) return { ok: true, transfers };
  }
}

/** Transfers of fees belong to no message and are left out. */
function toTransfers(response: TxResponse, memo: string, address: string): Transfer[] {
  return response.events
    .filter(({ type }) => type === 'transfer')
    .map(({ attributes }) => Object.fromEntries(attributes.map(({ key, value }) => [key, value])))
    .filter((of) => of.recipient === address && of.msg_index !== undefined)
    .map(({ sender = '', amount = '' }, index) => {
      return { hash: response.txhash, index, height: Number(response.height), memo, sender, amount };
    });
}
