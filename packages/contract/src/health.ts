import { z } from 'zod';
import { timestampSchema } from './primitives.ts';

export const agentLandingSchema = z
  .object({ status: z.literal('ok'), message: z.string(), timestamp: timestampSchema })
  .meta({ id: 'AgentLanding', description: 'The landing reply of the agent service.' });

export const gatewayHealthSchema = z
  .object({
    status: z.enum(['ok', 'degraded', 'down']),
    height: z.int().min(0).nullable().meta({ description: 'The latest block height seen, null before the first.' }),
    blockAgeSeconds: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: 'Age of the latest block, null before the first height.' }),
    halted: z.boolean().meta({ description: 'Whether no block came for longer than the configured time.' }),
    routes: z.int().min(0).meta({ description: 'How many routes are served.' }),
    upstreams: z.array(
      z.object({
        address: z.string().meta({ description: 'Which of GATEWAY_UPSTREAMS, by its place: `node 1`.' }),
        healthy: z.boolean().meta({ description: 'Whether queries are sent there.' }),
        height: z.int().min(0).nullable(),
        catchingUp: z.boolean(),
      }),
    ),
    timestamp: timestampSchema,
  })
  .meta({ id: 'GatewayHealth', description: 'Health of the query gateway; 503 when no upstream is up.' });

export type GatewayHealth = z.infer<typeof gatewayHealthSchema>;
