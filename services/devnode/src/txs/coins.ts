import type { Coin } from '../world/world.ts';
import { refuseTx, type TxFault } from './tx-fault.ts';

/** Why a message may not name these coins. */
export function checkCoins(coins: readonly Coin[]): TxFault | undefined {
  const isRight = coins.every(({ denom, amount }) => denom && /^[1-9]\d{0,77}$/.test(amount));
  const isSorted = coins.every(({ denom }, index) => index === 0 || (coins[index - 1] as Coin).denom < denom);
  return isRight && isSorted ? undefined : refuseTx('invalidCoins', 'expected positive amounts, sorted by denom');
}
