import { defaultPorts } from '@palaver/contract';
import {
  type Env,
  parseConfig,
  type RunningService,
  StartError,
  stopOnSignals,
  toConfigMessage,
  toReachableHost,
} from '@palaver/service-kit';
import { type ServiceEntry, services, unknownVariables } from '../services.ts';
import { toTable } from '../table.ts';

/** Runs every service in this process, each on its own port, until a signal comes. */
export async function up(env: Env): Promise<void> {
  checkAll(env);
  const running: RunningService[] = [];
  try {
    const rows = await startAll(env, running);
    stopOnSignals(running);
    process.stdout.write(`\n${toTable(['Service', 'Address', 'Try'], rows)}\n\nCtrl-C stops everything.\n\n`);
  } catch (error) {
    await Promise.allSettled(running.map((service) => service.close()));
    throw error;
  }
}

/** Every fault of every service's configuration in one message, before anything starts. */
function checkAll(env: Env): void {
  const faults = Object.values(services).flatMap(({ schema, portName }) => {
    const result = parseConfig(schema, env, { names: { PORT: portName } });
    return 'faults' in result ? result.faults : [];
  });
  faults.push(...unknownVariables(env));
  if (faults.length > 0) throw new StartError(toConfigMessage(faults));
}

/** Those that others ask are told their addresses; what the environment sets (a real node, another agent) wins. */
async function startAll(env: Env, running: RunningService[]): Promise<string[][]> {
  const rows: string[][] = [];
  async function start<S extends RunningService>(
    entry: ServiceEntry,
    service: Promise<S>,
    hint: (url: string) => string,
  ): Promise<S> {
    const started = await service;
    running.push(started);
    rows.push([entry.title, started.url, hint(started.url)]);
    return started;
  }
  const { agent, console, devnode, gateway, ussd } = services;
  const portOf = ({ portName }: ServiceEntry) => ({ names: { PORT: portName } });
  const gatewayUrl =
    env.GATEWAY_URL || `http://${toReachableHost(env.HOST || '127.0.0.1')}:${env.GATEWAY_PORT || defaultPorts.gateway}`;

  const oracle = await start(
    agent,
    agent.start({ ...env, GATEWAY_URL: gatewayUrl }, portOf(agent)),
    (url) => `open ${url}/docs`,
  );
  let upstreams = env.GATEWAY_UPSTREAMS;
  if (!upstreams) {
    const { did, entityDid, oracleName: name, model, url } = oracle;
    const profile = { did, ...(entityDid && { entityDid }), name, model, apiUrl: url, socketUrl: url };
    const node = await start(
      devnode,
      devnode.start(env, { ...portOf(devnode), agent: profile }),
      () => 'npx palaver gateway routes',
    );
    upstreams = node.address;
  }
  const asked = { ...env, GATEWAY_URL: gatewayUrl, AGENT_URL: env.AGENT_URL || oracle.url };
  const queries = await start(
    gateway,
    gateway.start({ ...env, GATEWAY_UPSTREAMS: upstreams }, portOf(gateway)),
    (url) => `curl ${url}/ixo/token/params`,
  );
  const phones = await start(ussd, ussd.start(asked, portOf(ussd)), (url) => `npx palaver dial ${url}`);
  const shown = { ...env, USSD_URL: phones.url, AGENT_URL: oracle.url, GATEWAY_URL: queries.url };
  await start(console, console.start(shown, portOf(console)), (url) => `open ${url}`);
  return rows;
}
