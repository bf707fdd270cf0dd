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
});

export type ConsoleConfig = Readonly<z.infer<typeof consoleConfigSchema>>;
