import { refuseArgument } from '../refusal.ts';
import { createTable, emptyTable } from '../world/table.ts';
import { answerPage, type Paged, paginate } from './paginate.ts';
import { answer, type Query } from './query.ts';

const emptyAddress = 'invalid address: empty address string is not allowed';

// An address nobody has used owns nothing; that is an answer, not an error.
export const bankQueries = {
  Balance({ world }, { address, denom }: { address: string; denom: string }) {
    if (address === '') return refuseArgument(emptyAddress);
    if (denom === '') return refuseArgument('invalid denom');
    return answer({ balance: world.coinsByAddress.get(address)?.get(denom) ?? { denom, amount: '0' } });
  },
  AllBalances({ world }, { address, pagination }: Paged & { address: string }) {
    if (address === '') return refuseArgument(emptyAddress);
    const coins = world.coinsByAddress.get(address) ?? emptyTable();
    return answerPage('balances', paginate(coins.rows, pagination));
  },
  TotalSupply({ world }, { pagination }: Paged) {
    const supply = new Map<string, bigint>();
    for (const { rows } of world.coinsByAddress.values()) {
      for (const { value } of rows) supply.set(value.denom, (supply.get(value.denom) ?? 0n) + BigInt(value.amount));
    }
    const coins = [...supply].map(([denom, amount]) => ({ denom, amount: String(amount) }));
    return answerPage('supply', paginate(createTable(coins, ({ denom }) => denom).rows, pagination));
  },
} satisfies Record<string, Query>;
