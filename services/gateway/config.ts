import { baseVariables, envOrigins } from '@palaver/service-kit';
import { z } from 'zod';

export const gatewayConfigSchema = z.object({
  ...baseVariables({ port: 1317 }),
  CORS_ORIGIN: envOrigins().optional().meta({
    description: 'Origins whose pages may call the gateway; without it only pages of the same origin can.',
    example: 'https://app.example',
  }),
});

export type GatewayConfig = Readonly<z.infer<typeof gatewayConfigSchema>>;
