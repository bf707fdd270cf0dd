import { agentConfigSchema } from '@palaver/agent/config';
import { createBundledPlugins } from '@palaver/agent-plugins';
import { startAgent } from '@palaver/agent-service';
import { startConsole } from '@palaver/console';
import { consoleConfigSchema } from '@palaver/console/config';
import { startDevnode } from '@palaver/devnode';
import { devnodeConfigSchema } from '@palaver/devnode/config';
import { startGateway } from '@palaver/gateway';
import { gatewayConfigSchema } from '@palaver/gateway/config';
import type { ConfigOptions, Env, RunningService } from '@palaver/service-kit';
import { findMisspelt, findUnknownVariables, listVariables } from '@palaver/service-kit/internal';
import { startUssd } from '@palaver/ussd';
import { secretPrefixes, ussdConfigSchema } from '@palaver/ussd/config';
import type { ZodObject } from 'zod';
import { serviceTitles } from './service-titles.ts';

export interface ServiceEntry {
  name: string;
  title: string;
  /** The variable of its port where all services run in one process. */
  portName: string;
  schema: ZodObject;
  start(env: Env, options?: ConfigOptions): Promise<RunningService>;
}

function toEntry<Start extends ServiceEntry['start']>(
  name: keyof typeof serviceTitles,
  schema: ZodObject,
  start: Start,
) {
  return { name, title: serviceTitles[name], portName: `${name.toUpperCase()}_PORT`, schema, start };
}

export const services = {
  agent: toEntry('agent', agentConfigSchema, startAgent),
  console: toEntry('console', consoleConfigSchema, startConsole),
  devnode: toEntry('devnode', devnodeConfigSchema, startDevnode),
  gateway: toEntry('gateway', gatewayConfigSchema, startGateway),
  ussd: toEntry('ussd', ussdConfigSchema, startUssd),
} satisfies Record<keyof typeof serviceTitles, ServiceEntry>;

export type ServiceName = keyof typeof services;

const ownPrefixes = ['CONSOLE_', 'USSD_', 'GATEWAY_', 'DEVNODE_', 'ORACLE_', 'UCAN_', 'PIN_ENCRYPTION_'];

export function unknownVariables(env: Env): string[] {
  const secrets = Object.keys(env).filter((name) => secretPrefixes.some((prefix) => name.startsWith(prefix)));
  return findUnknownVariables(env, [...knownVariables(), ...secrets], ownPrefixes);
}

export function misspeltVariables(env: Env): string[] {
  const schemas = createBundledPlugins().flatMap(({ configSchema }) => configSchema ?? []);
  const ofPlugins = schemas.flatMap(listVariables).map(({ name }) => name);
  const isForeign = (name: string) => !ownPrefixes.some((prefix) => name.startsWith(prefix));
  const foreign = Object.fromEntries(Object.entries(env).filter(([name]) => isForeign(name)));
  return findMisspelt(foreign, [...knownVariables(), ...ofPlugins]).map(
    ({ name, meant }) => `${name}: no such variable; did you mean ${meant}?`,
  );
}

function knownVariables(): string[] {
  return Object.values(services).flatMap(({ schema, portName }) => [
    portName,
    ...listVariables(schema).map(({ name }) => name),
  ]);
}
