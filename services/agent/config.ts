import { baseVariables, envInteger, envOrigins } from '@palaver/service-kit';
import { z } from 'zod';

export const agentConfigSchema = z.object({
  ...baseVariables({ port: 4000 }),
  CORS_ORIGIN: envOrigins().prefault('*').meta({
    description: 'Origins whose pages may call the service: * (without credentials) or a list (with them).',
    example: 'https://app.example,https://admin.example',
  }),
  BODY_LIMIT_BYTES: envInteger({ min: 1024, max: 100 * 1024 * 1024 })
    .prefault(String(1024 * 1024))
    .meta({
      description: 'Largest request body in bytes.',
      example: '1048576',
    }),
});

export type AgentConfig = Readonly<z.infer<typeof agentConfigSchema>>;
