import { defaultPorts } from '@palaver/contract';
import { baseVariables, envInteger, envList, envUrl } from '@palaver/service-kit';
import { z } from 'zod';

function serviceUrl(port: number, description: string) {
  const example = `http://127.0.0.1:${port}`;
  return envUrl('http:', 'https:').prefault(example).meta({ description, example });
}

export const consoleConfigSchema = z.object({
  ...baseVariables({ port: defaultPorts.console }),
  USSD_URL: serviceUrl(3000, 'The USSD gateway the console page dials. `npm start` sets it.'),
  AGENT_URL: serviceUrl(4000, 'The agent service the console page chats with. `npm start` sets it.'),
  GATEWAY_URL: serviceUrl(1317, 'The query gateway the console page explores. `npm start` sets it.'),
  GATEWAY_API_KEY: z.string().min(1).optional().meta({
    description:
      'API key with which the page reads from the query gateway if it has GATEWAY_AUTH=api-key. Everyone who can reach the console uses it.',
    example: 'k-3f9c1c2e',
    secret: true,
  }),
  GATEWAY_UCAN: z.string().min(1).optional().meta({
    description:
      'UCAN delegation with which the page reads from the query gateway if it has GATEWAY_AUTH=ucan. Everyone who can reach the console uses it.',
    example: 'OqJlcm9vdHOB2CpYJQ',
    secret: true,
  }),
  GATEWAY_PREFIX: z
    .string()
    .regex(/^\/[\w./-]*$/, 'expected a path such as /ixo')
    .prefault('/ixo')
    .meta({ description: "Path under which the query gateway serves the protocol's own routes.", example: '/ixo' }),
  METRICS_INTERVAL_SECONDS: envInteger({ min: 1, max: 300 })
    .prefault('15')
    .meta({ description: "How often the console reads the services' metrics for its history and alarms." }),
  ALARM_WEBHOOK_URL: envUrl('http:', 'https:').optional().meta({
    description:
      'Address that alarms are posted to as JSON when they are raised and cleared. HTTPS at a public address, unless its host is in ALARM_WEBHOOK_ALLOWED_HOSTS.',
    example: 'https://alarms.example/palaver',
    secret: true,
  }),
  ALARM_WEBHOOK_ALLOWED_HOSTS: envList().prefault('').meta({
    description: 'Hosts (`name` or `name:port`) of a webhook that may have private addresses and plain HTTP.',
    example: 'alertmanager.internal:9093',
  }),
  ALARM_FAULT_PERCENT: envInteger({ min: 1, max: 100 }).prefault('5').meta({
    description: 'Raise an alarm when more than this percentage of the requests of five minutes failed with 5xx.',
  }),
  ALARM_P95_MS: envInteger({ min: 1, max: 600_000 }).prefault('2000').meta({
    description:
      'Raise an alarm when the 95th percentile of the latency of five minutes is above this many milliseconds.',
  }),
});

export type ConsoleConfig = Readonly<z.infer<typeof consoleConfigSchema>>;
