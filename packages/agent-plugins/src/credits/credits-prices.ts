import { estimateTokens, type Middleware, type TurnEnd } from '@palaver/agent';
import { AppError } from '@palaver/contract';
import { parseJson, toPaymentDetails } from '@palaver/contract/internal';
import { z } from 'zod';
import type { Ledger } from './credits-ledger.ts';

const priceSchema = z.object({ input: z.number().min(0).max(1e9), output: z.number().min(0).max(1e9) });
const pricesSchema = z.record(z.string(), priceSchema);

/** Credits per 1,000 tokens by model; `*` is every other model. */
type Prices = z.infer<typeof pricesSchema>;

export const envPrices = () =>
  z.string().transform((text, context): Prices => {
    const parsed = pricesSchema.safeParse(parseJson(text));
    if (parsed.success && '*' in parsed.data) return parsed.data;
    context.addIssue({ code: 'custom', message: 'expected JSON of credits per 1,000 tokens by model' });
    return z.NEVER;
  });

export const priceVariables = {
  CREDITS_PRICES: envPrices().prefault('{"*":{"input":1,"output":4}}').meta({
    description: 'Credits per 1,000 tokens by model; * is every other model.',
    example: '{"gpt-5":{"input":2,"output":10},"*":{"input":1,"output":4}}',
  }),
};

/** What an answer costs in whole credits, each model at its price: at least one where a model was used at all. */
export function toCost(prices: Prices, usage: TurnEnd['usageByModel']): number {
  const used = Object.entries(usage).filter(([, { inputTokens, outputTokens }]) => inputTokens + outputTokens > 0);
  if (used.length === 0) return 0;
  const costs = used.map(([model, { inputTokens, outputTokens }]) => {
    const { input, output } = prices[model] ?? prices['*'] ?? { input: 0, output: 0 };
    return inputTokens * input + outputTokens * output;
  });
  return Math.max(1, Math.ceil(costs.reduce((sum, cost) => sum + cost, 0) / 1000));
}

/** Sets the price of a prompt aside before each call, so that many turns at once do not leave a debt that nobody pays. */
export function createSpendingLimit(prices: Prices, raise: Ledger['raise']): Middleware {
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
