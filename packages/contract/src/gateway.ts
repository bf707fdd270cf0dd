import { z } from 'zod';
import { sha256Pattern } from './patterns.ts';
import { named, timestampSchema } from './primitives.ts';

export const gatewayErrorBodySchema = named('GatewayError', 'Every error of the query gateway.', {
  statusCode: z.int(),
  error: z.string(),
  message: z.string(),
  code: z.int().min(0).describe('The gRPC status number.'),
  reason: z.string().describe('The gRPC status name, or the code of a refusal of the gateway itself.'),
  details: z.array(z.looseObject({ '@type': z.string() })),
});

export type GatewayErrorBody = z.infer<typeof gatewayErrorBodySchema>;

const apiKeySchema = z.object({
  name: z.string().min(1).max(100),
  sha256: z.string().regex(sha256Pattern, { error: 'must be the SHA-256 of the key as 64 hex digits' }).toLowerCase(),
  perMinute: z.int().min(1).optional(),
  routes: z
    .array(z.string().startsWith('/', { error: 'must be a path that begins with /' }))
    .min(1)
    .optional(),
});

export type ApiKey = z.infer<typeof apiKeySchema>;

const isDistinct = (values: string[]) => new Set(values).size === values.length;

export const apiKeyFileSchema = z
  .array(apiKeySchema)
  .refine((keys) => isDistinct(keys.map(({ name }) => name)), { error: 'names must be distinct' })
  .refine((keys) => isDistinct(keys.map(({ sha256 }) => sha256)), { error: 'keys must be distinct' })
  .describe('The file GATEWAY_API_KEYS_FILE names.');

export const agentLandingSchema = z
  .object({ status: z.literal('ok'), message: z.string(), timestamp: timestampSchema })
  .meta({ id: 'AgentLanding', description: 'The landing reply of the agent service.' });

export const gatewayHealthSchema = named('GatewayHealth', 'Health of the query gateway; 503 when no upstream is up.', {
  status: z.enum(['ok', 'degraded', 'down']),
  height: z.int().min(0).nullable().describe('The latest block height seen, null before the first.'),
  blockAgeSeconds: z.int().min(0).nullable().describe('Age of the latest block, null before the first height.'),
  halted: z.boolean().describe('Whether no block came for longer than the configured time.'),
  routes: z.int().min(0).describe('How many routes are served.'),
  upstreams: z.array(
    z.object({
      address: z.string().describe('Which of GATEWAY_UPSTREAMS, by its place: `node 1`.'),
      healthy: z.boolean().describe('Whether queries are sent there.'),
      height: z.int().min(0).nullable(),
      catchingUp: z.boolean(),
    }),
  ),
  timestamp: timestampSchema,
});

export type GatewayHealth = z.infer<typeof gatewayHealthSchema>;
