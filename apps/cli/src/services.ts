import { startAgent } from '@palaver/agent';
import { agentConfigSchema } from '@palaver/agent/config';
import { startGateway } from '@palaver/gateway';
import { gatewayConfigSchema } from '@palaver/gateway/config';
import {
  type ConfigOptions,
  type Env,
  findUnknownVariables,
  listVariables,
  type RunningService,
} from '@palaver/service-kit';
import { startUssd } from '@palaver/ussd';
import { ussdConfigSchema } from '@palaver/ussd/config';
import type { ZodObject } from 'zod';

export interface ServiceEntry {
  name: string;
  title: string;
  /** The variable of its port where all services run in one process. */
  portName: string;
  schema: ZodObject;
  start(env: Env, options?: ConfigOptions): Promise<RunningService>;
  /** What to try once it runs. */
  hint(url: string): string;
}

/** Every service in the order they start: those that others ask come first. */
export const services: ServiceEntry[] = [
  {
    name: 'gateway',
    title: 'query gateway',
    portName: 'GATEWAY_PORT',
    schema: gatewayConfigSchema,
    start: startGateway,
    hint: (url) => `curl ${url}/health`,
  },
  {
    name: 'agent',
    title: 'agent service',
    portName: 'AGENT_PORT',
    schema: agentConfigSchema,
    start: startAgent,
    hint: (url) => `curl ${url}/health`,
  },
  {
    name: 'ussd',
    title: 'USSD gateway',
    portName: 'USSD_PORT',
    schema: ussdConfigSchema,
    start: startUssd,
    hint: (url) => `curl ${url}/health`,
  },
];

const ownPrefixes = ['USSD_', 'GATEWAY_', 'DEVNODE_', 'ORACLE_', 'UCAN_', 'PIN_ENCRYPTION_'];

/** Variables in the environment that look like ours but that no service knows. */
export function unknownVariables(env: Env): string[] {
  const known = services.flatMap(({ schema, portName }) => [
    portName,
    ...listVariables(schema).map(({ name }) => name),
  ]);
  return findUnknownVariables(env, known, ownPrefixes);
}
