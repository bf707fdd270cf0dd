import { ToolError, tool, withEnvFile } from '@palaver/agent';
import { createOracleApp } from '@palaver/agent-plugins';
import { z } from 'zod';

const { SHOP_URL = 'http://127.0.0.1:8000', ...env } = withEnvFile(process.env);
async function askShop<Reply>(path: string, reply: z.ZodType<Reply>, signal: AbortSignal, body?: string) {
  const response = await fetch(`${SHOP_URL}/${path}`, { method: body ? 'POST' : 'GET', body, signal });
  if (!response.ok) throw new ToolError('TOOL_FAILED', `the shop answers ${response.status}`);
  return reply.parse(await response.json());
}

export const app = await createOracleApp({
  instructions: 'You help the members of a farming co-operative to buy seed and to plan their work.',
  tools: {
    price_of: tool({
      description: 'What a kilogram of seed costs, in KES',
      inputSchema: z.object({ crop: z.enum(['maize', 'beans', 'sorghum']) }),
      execute: ({ crop }, { abortSignal }) => askShop(`prices/${crop}`, z.object({ price: z.number() }), abortSignal),
    }),
    order_seed: tool({
      description: 'Orders seed at the price of the day',
      inputSchema: z.object({ crop: z.string(), kilograms: z.number().positive() }),
      needsApproval: ({ kilograms }) => kilograms > 50,
      execute: (order, rt) => askShop('orders', z.any(), rt.abortSignal, JSON.stringify({ ...order, by: rt.user.did })),
    }),
    count_stock: tool({
      description: 'How much seed all stores together have, in kilograms',
      inputSchema: z.object({ stores: z.array(z.string()).default(['kisumu', 'homa-bay', 'siaya']) }),
      async *execute({ stores }, { abortSignal }) {
        let kilograms = 0;
        for (const store of stores) {
          kilograms += (await askShop(`stock/${store}`, z.object({ kilograms: z.number() }), abortSignal)).kilograms;
          yield { kilograms, counted: store };
        }
      },
    }),
    remind_me: tool({
      description: 'Reminds the member of something',
      inputSchema: z.object({ what: z.string(), when: z.string().describe('such as "2 hours"') }),
      execute: ({ what, when }, rt) => rt.schedule({ prompt: `Remind me: ${what}`, in: when }),
    }),
  },
  env: { PORT: '4100', ...env },
});
console.log(`The co-operative listens at ${await app.listen()}`);
