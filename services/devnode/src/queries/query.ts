import type { DescMessage } from '@bufbuild/protobuf';
import type { Chain } from '../chain.ts';
import type { Refusal } from '../refusal.ts';
import type { TxPool } from '../txs/tx-pool.ts';
import type { World } from '../world/world.ts';

/** What a query may look at. There is no height in it: the data of every height is that of now. */
export interface View {
  world: World;
  chain: Chain;
  txs: TxPool;
  /** Of messages that answers hold as `Any`. */
  descs: { account: DescMessage; tx: DescMessage };
}

/** The fields of the response message, or why there is none. */
export type Answer = { ok: true; response: Record<string, unknown> } | Refusal;

/** A method of a query service. `never`, because each declares the fields of its own request. */
export type Query = (view: View, request: never) => Answer;

export type ById = { id: string };

export function answer(response: Record<string, unknown>): Answer {
  return { ok: true, response };
}
