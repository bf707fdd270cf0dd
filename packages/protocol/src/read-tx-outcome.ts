import type { GatewayClient, GatewayFault } from './gateway-client.ts';
import { readAccount, readTxOfSequence, type TxResponse } from './read-chain.ts';

export interface SentTx {
  hash: string;
  address: string;
  sequence: number;
  /** A block after the last one that may include it. */
  height: number;
}

export type TxOutcome = { ok: true; response?: TxResponse; isUnclear?: boolean };

/**
 * The outcome of a transaction that nodes do not find by its hash after its timeout. Their index may lack it, but the state of
 * a block shows whether its sequence is used up, and the index whether another transaction did that.
 */
export async function readTxOutcome(gateway: GatewayClient, sent: SentTx): Promise<TxOutcome | GatewayFault> {
  const account = await readAccount(gateway, sent.address, sent.height);
  if (!account.ok) return account;
  if (account.sequence <= sent.sequence) return { ok: true };
  const used = await readTxOfSequence(gateway, sent);
  if (!used.ok) return used;
  if (!used.response) return { ok: true, isUnclear: true };
  return used.response.txhash === sent.hash ? { ok: true, response: used.response } : { ok: true };
}
