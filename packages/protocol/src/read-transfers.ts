import type { GatewayClient, GatewayFault } from './gateway-client.ts';
import { type Read, searchSchema, type TxResponse, toStorable } from './read-chain.ts';

/**
 * Coins that reached an address in a transaction.
 *
 * @example
 * ```ts
 * import type { Transfer } from '@palaver/protocol';
 *
 * export const toLine = ({ sender, amount, memo }: Transfer) => `${sender} paid ${amount}: ${memo}`;
 * ```
 */
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

/** Each divides the one before it, so that a smaller page begins where a larger one would have. */
const pageSizes = [100, 50, 25, 5, 1];
const maxBytes = 16_000_000;
/** Of one transaction: nodes take at most 1 MB by default, and print it and its events at many times that. */
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
    // Pages may come from several nodes, and one of them has not indexed what another has.
    if (responses.length < size) return toFault(`${count} of ${largestTotal} transactions were found`);
  }
}

function toFault(message: string): GatewayFault {
  return { ok: false, kind: 'unavailable', status: undefined, message };
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
