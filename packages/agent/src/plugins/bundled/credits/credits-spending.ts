import { AppError } from '@palaver/contract';
import { type CreditAccount, toPaymentDetails } from '@palaver/contract/internal';
import type { Middleware, ModelResult } from '../../middleware.ts';
import type { RuntimeContext } from '../../runtime-context.ts';
import { type Prices, toCost } from './credits-prices.ts';

type Usage = ModelResult['usage'];

export interface SpendingRules {
  CREDITS_PRICES: Prices;
  CREDITS_RESERVATION: number;
}

/**
 * Ends a turn before a further call of the model once it has cost more than the user has. Otherwise users who have little
 * credit, or many turns at once, would leave the cost of many long turns as a debt that nobody pays.
 */
export function createSpendingLimit(
  { CREDITS_PRICES: prices, CREDITS_RESERVATION: reservation }: SpendingRules,
  accountOf: (did: string) => Promise<CreditAccount>,
): Middleware {
  const used = new WeakMap<RuntimeContext, Usage>();
  return {
    async wrapModelCall(call, next, rt) {
      const before = used.get(rt);
      if (before) {
        const { balance, held, claims } = await accountOf(rt.user.did);
        // What is set aside for this turn is at most the reservation; the rest is for other turns.
        const rest = balance + Math.min(held, reservation);
        if (toCost(prices, call.modelId, before) > rest) throw paymentRequired(claims.map(({ claimId }) => claimId));
      }
      const result = await next(call);
      used.set(rt, add(used.get(rt), result.usage));
      return result;
    },
  };
}

function add(sum: Usage = { inputTokens: 0, outputTokens: 0 }, { inputTokens, outputTokens }: Usage): Usage {
  return { inputTokens: sum.inputTokens + inputTokens, outputTokens: sum.outputTokens + outputTokens };
}

export function paymentRequired(claimIds: string[]): AppError {
  const message = 'Your credit is used up. Settle the claims, then send the message again.';
  return new AppError('PAYMENT_REQUIRED', message, { details: toPaymentDetails(claimIds) });
}
