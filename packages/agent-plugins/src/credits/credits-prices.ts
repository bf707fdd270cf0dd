import type { TurnEnd } from '@palaver/agent';
import { z } from 'zod';

const priceSchema = z.object({ input: z.number().min(0).max(1e9), output: z.number().min(0).max(1e9) });
const pricesSchema = z.record(z.string(), priceSchema);

/** Credits per 1,000 tokens by model; `*` is every other model. */
export type Prices = z.infer<typeof pricesSchema>;

const expected = 'expected JSON of credits per 1,000 tokens by model';

/** The environment variable that says what answers cost. */
export const envPrices = () =>
  z.string().transform((text, context): Prices => {
    try {
      const parsed = pricesSchema.safeParse(JSON.parse(text));
      if (parsed.success && '*' in parsed.data) return parsed.data;
    } catch {
      // Reported below, like every other text that is not a price list.
    }
    context.addIssue({ code: 'custom', message: expected });
    return z.NEVER;
  });

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
