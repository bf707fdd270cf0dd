import { AppError } from '@palaver/contract';
import { toPaymentDetails } from '@palaver/contract/internal';
import { estimateTokens } from '../../../models/estimate-tokens.ts';
import type { Middleware, ModelResult } from '../../middleware.ts';
import type { RuntimeContext } from '../../runtime-context.ts';
import type { Ledger } from './credits-ledger.ts';
import { type Prices, toCost } from './credits-prices.ts';

type Usage = ModelResult['usage'];

/**
 * Sets the price of a prompt aside before it is sent to the model, and ends a turn that has cost more than the user has. Otherwise
 * users who have little credit, or many turns at once, would leave the cost of many long turns as a debt that nobody pays.
 */
export function createSpendingLimit(
  { CREDITS_PRICES: prices }: { CREDITS_PRICES: Prices },
  raise: Ledger['raise'],
): Middleware {
  const used = new WeakMap<RuntimeContext, Usage>();
  return {
    async wrapModelCall(call, next, rt) {
      const before = used.get(rt) ?? { inputTokens: 0, outputTokens: 0 };
      const prompt = estimateTokens(call.prompt) + estimateTokens(JSON.stringify(call.tools ?? []));
      const spent = toCost(prices, call.modelId, before);
      const need = toCost(prices, call.modelId, add(before, { inputTokens: prompt, outputTokens: 0 }));
      const refused = await raise(rt.user.did, { sendId: rt.session.sendId, need, spent });
      if (refused) throw paymentRequired(refused.claimIds);
      const result = await next(call);
      used.set(rt, add(before, result.usage));
      return result;
    },
  };
}

function add(sum: Usage, { inputTokens, outputTokens }: Usage): Usage {
  return { inputTokens: sum.inputTokens + inputTokens, outputTokens: sum.outputTokens + outputTokens };
}

export function paymentRequired(claimIds: string[]): AppError {
  const message = 'Your credit is used up. Settle the claims, then send the message again.';
  return new AppError('PAYMENT_REQUIRED', message, { details: toPaymentDetails(claimIds) });
}
