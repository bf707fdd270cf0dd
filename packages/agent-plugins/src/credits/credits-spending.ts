import { estimateTokens, type Middleware } from '@palaver/agent';
import { AppError } from '@palaver/contract';
import { toPaymentDetails } from '@palaver/contract/internal';
import type { Ledger } from './credits-ledger.ts';
import { type Prices, toCost } from './credits-prices.ts';

/**
 * Sets the price of a prompt aside before it is sent to the model, and ends a turn that has cost more than the user has. Otherwise
 * users who have little credit, or many turns at once, would leave the cost of many long turns as a debt that nobody pays.
 */
export function createSpendingLimit(
  { CREDITS_PRICES: prices }: { CREDITS_PRICES: Prices },
  raise: Ledger['raise'],
): Middleware {
  return {
    async wrapModelCall(call, next, rt) {
      const used = rt.usage();
      const { inputTokens = 0, outputTokens = 0 } = used[call.modelId] ?? {};
      const prompt = estimateTokens(call.prompt) + estimateTokens(JSON.stringify(call.tools ?? []));
      const asked = { ...used, [call.modelId]: { inputTokens: inputTokens + prompt, outputTokens } };
      const [spent, need] = [toCost(prices, used), toCost(prices, asked)];
      const refused = await raise(rt.user.did, { sendId: rt.session.sendId, need, spent });
      if (refused) throw paymentRequired(refused.claimIds);
      return next(call);
    },
  };
}

export function paymentRequired(claimIds: string[]): AppError {
  const message = 'Your credit is used up. Settle the claims, then send the message again.';
  return new AppError('PAYMENT_REQUIRED', message, { details: toPaymentDetails(claimIds) });
}
