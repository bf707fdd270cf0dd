import { defineOraclePlugin, ToolError, tool } from '@palaver/agent';
import { z } from 'zod';

const configSchema = z.object({
  MARKET_CURRENCY: z.string().length(3).prefault('KES').meta({
    description: 'Currency of the prices.',
    example: 'UGX',
  }),
});

const prices = new Map([
  ['maize', 52],
  ['beans', 140],
  ['cassava', 38],
]);

/** Tools that look things up, a variable of its own, and a public route. */
export const marketPrices = defineOraclePlugin({
  name: 'market-prices',
  version: '1.0.0',
  manifest: {
    title: 'Market prices',
    summary: 'Knows what crops cost at the market today.',
    whenToUse: ['the user asks what a crop costs or what a quantity of it is worth'],
    examples: [{ user: 'What do I get for 20 kg of maize?', tool: 'price_of' }],
    tags: ['farming'],
    visibility: 'always',
    stability: 'stable',
  },
  configSchema,
  getTools: ({ config }) => ({
    price_of: tool({
      description: 'What a crop costs, per kilogram or for a quantity',
      inputSchema: z.object({ crop: z.string().max(40), kilograms: z.number().positive().default(1) }),
      execute({ crop, kilograms }) {
        const price = prices.get(crop.toLowerCase());
        if (price === undefined) throw new ToolError('TOOL_FAILED', `the market has no ${crop}`);
        return { crop, kilograms, price: price * kilograms, currency: config.MARKET_CURRENCY };
      },
    }),
  }),
  getRoutes: () => (server) => {
    const schema = { tags: ['Market'], summary: 'All prices per kilogram' };
    server.get('/prices', { schema }, async () => Object.fromEntries(prices));
  },
  getAuthExcludedRoutes: () => [{ path: '/prices', method: 'GET' }],
});
