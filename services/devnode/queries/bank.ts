import { refuseArgument } from '../refusal.ts';
import { emptyTable } from '../world/table.ts';
import { answerPage, type Paged, paginate } from './paginate.ts';
import { answer, type Query } from './query.ts';

const emptyAddress = 'invalid address: empty address string is not allowed';

// An address nobody has used owns nothing; that is an answer, not an error. TotalSupply is left out: see its proto.
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
} satisfies Record<string, Query>;
