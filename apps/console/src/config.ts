import { defaultPorts } from '@palaver/contract';
import { baseVariables, envUrl } from '@palaver/service-kit';
import { z } from 'zod';

export const consoleConfigSchema = z.object({
  ...baseVariables({ port: defaultPorts.console }),
  USSD_URL: envUrl('http:', 'https:').prefault('http://127.0.0.1:3000').meta({
    description: 'The USSD gateway the console page dials. `npm start` sets it.',
    example: 'http://127.0.0.1:3000',
  }),
  AGENT_URL: envUrl('http:', 'https:').prefault('http://127.0.0.1:4000').meta({
    description: 'The agent service the console page chats with. `npm start` sets it.',
    example: 'http://127.0.0.1:4000',
  }),
  GATEWAY_URL: envUrl('http:', 'https:').prefault('http://127.0.0.1:1317').meta({
    description: 'The query gateway the console page explores. `npm start` sets it.',
    example: 'http://127.0.0.1:1317',
  }),
  GATEWAY_API_KEY: z.string().min(1).optional().meta({
    description:
      'API key with which the page reads from the query gateway, where that has GATEWAY_AUTH=api-key. Whoever reaches the console reads with it.',
    example: 'k-3f9c1c2e',
    secret: true,
  }),
  GATEWAY_UCAN: z.string().min(1).optional().meta({
    description:
      'UCAN delegation with which the page reads from the query gateway, where that has GATEWAY_AUTH=ucan. Whoever reaches the console reads with it.',
    example: 'OqJlcm9vdHOB2CpYJQ',
    secret: true,
  }),
  GATEWAY_PREFIX: z
    .string()
    .regex(/^\/[\w./-]*$/, 'expected a path such as /ixo')
    .prefault('/ixo')
    .meta({ description: "Path under which the query gateway serves the protocol's own routes.", example: '/ixo' }),
});

export type ConsoleConfig = Readonly<z.infer<typeof consoleConfigSchema>>;
