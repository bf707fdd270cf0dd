import { existsSync, renameSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, relative } from 'node:path';
import { defaultPorts } from '@palaver/contract';
import { type Env, type RunningService, StartError } from '@palaver/service-kit';
import {
  parseConfig,
  prepareDataDir,
  sendLogsTo,
  stopOnSignals,
  toConfigMessage,
  toReachableHost,
} from '@palaver/service-kit/internal';
import { describeLocalModel } from '../local-model.ts';
import { type ServiceEntry, services, unknownVariables } from '../services.ts';
import { toTable } from '../table.ts';

export async function up(env: Env): Promise<void> {
  const places = checkAll(env);
  await refuseBusyPorts(places.filter(({ name }) => name !== 'devnode' || !env.GATEWAY_UPSTREAMS));
  const logPath = keepLogsOffTerminal(env);
  const running: RunningService[] = [];
  stopOnSignals(running, env);
  try {
    const rows = await startAll(env, running);
    const where = logPath ? `Logs are in ${logPath}; to see them here, set LOG_LEVEL.\n` : '';
    print(
      `\n${toTable(['Service', 'Address', 'Try'], rows)}\n\n${(await describeLocalModel(env)) ?? ''}${where}Ctrl-C stops everything.\n`,
    );
  } catch (error) {
    await Promise.allSettled(running.map((service) => service.close()));
    throw error;
  }
}

/** Reports the faults of every service's configuration in one message; returns where each will listen. */
function checkAll(env: Env): { name: string; host: string; port: number; portName: string }[] {
  const results = Object.values(services).map(({ name, schema, portName }: ServiceEntry) => ({
    name,
    portName,
    ...parseConfig(schema, env, { names: { PORT: portName } }),
  }));
  const faults = results.flatMap((result) => ('faults' in result ? result.faults : []));
  faults.push(...unknownVariables(env));
  if (faults.length > 0) throw new StartError(toConfigMessage(faults));
  return results.map(({ name, portName, ...result }) => {
    const { HOST, PORT } = ('config' in result ? result.config : {}) as { HOST: string; PORT: number };
    return { name, host: HOST, port: PORT, portName };
  });
}

/** At a terminal, logs go to a file, so that the table stays on screen; the log of the last start is kept beside it. */
function keepLogsOffTerminal(env: Env): string | undefined {
  if (!process.stdout.isTTY || env.LOG_LEVEL) return undefined;
  const path = join(prepareDataDir(env.DATA_DIR || './data'), 'palaver.log');
  if (existsSync(path)) renameSync(path, `${path}.1`);
  sendLogsTo(path);
  return relative(process.cwd(), path);
}

function print(text: string): void {
  process.stdout.write(text);
}

function toRoutesCommand({ hostname, port }: URL): string {
  const node = `${toReachableHost(hostname)}:${port}`;
  const isDefault = node === `127.0.0.1:${defaultPorts.devnode}`;
  return `npx palaver gateway routes${isDefault ? '' : ` --upstream ${node}`}`;
}

const titleWidth = Math.max(...Object.values(services).map(({ title }) => title.length));

/** Gives each service the addresses of those it calls; the environment wins (a real node, another agent). */
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
    print(`  started ${entry.title.padEnd(titleWidth)}  ${started.url}\n`);
    return started;
  }
  const { agent, console, devnode, gateway, ussd } = services;
  const portOf = ({ portName }: ServiceEntry) => ({ names: { PORT: portName } });
  const host = toReachableHost(env.HOST || '127.0.0.1');
  const gatewayUrl = env.GATEWAY_URL || `http://${host}:${env.GATEWAY_PORT || defaultPorts.gateway}`;
  let upstreams = env.GATEWAY_UPSTREAMS;
  const isEmbedded = !upstreams;
  // The query gateway takes no writes: transactions of the services go to the node itself.
  const node = isEmbedded && {
    SIGNING_NODE: env.SIGNING_NODE || `${host}:${env.DEVNODE_PORT || defaultPorts.devnode}`,
  };
  const chain = { ...env, ...node, GATEWAY_URL: gatewayUrl };

  const oracle = await start(agent, agent.start(chain, portOf(agent)), (url) => `open ${url}/docs`);
  print(`          as ${oracle.entityDid ?? oracle.did}\n`);
  // Pages in development on this machine look agents up at the development node.
  const cors = isEmbedded && !env.CORS_ORIGIN && { CORS_ORIGIN: 'http://localhost:*,http://127.0.0.1:*' };
  if (!upstreams) {
    const { did, entityDid, oracleName: name, model, url } = oracle;
    const profile = { did, ...(entityDid && { entityDid }), name, model, apiUrl: url, socketUrl: url };
    const embedded = await start(devnode, devnode.start(env, { ...portOf(devnode), agent: profile }), (url) =>
      toRoutesCommand(new URL(url)),
    );
    upstreams = embedded.address;
  }
  const asked = { ...chain, AGENT_URL: env.AGENT_URL || oracle.url };
  const queries = await start(
    gateway,
    gateway.start({ ...env, ...cors, GATEWAY_UPSTREAMS: upstreams }, portOf(gateway)),
    (url) => `curl ${url}/ixo/token/params`,
  );
  const phones = await start(ussd, ussd.start(asked, portOf(ussd)), (url) => `npx palaver dial ${url}`);
  const shown = { ...env, USSD_URL: phones.url, AGENT_URL: oracle.url, GATEWAY_URL: queries.url };
  const { page } = await start(console, console.start(shown, portOf(console)), (url) => `open ${url}`);
  if (page.current().status === 'building') print('  building the console page (on the first start only) …\n');
  await page.settled;
  if (page.current().status === 'failed') print('  The console page could not be built; the log has the reason.\n');
  return rows;
}

interface Place {
  host: string;
  port: number;
  portName: string;
}

export async function refuseBusyPorts(places: Place[]): Promise<void> {
  const faults = await Promise.all(places.map(isBusy));
  const busy = places.filter((_, index) => faults[index]);
  const [first] = busy;
  if (busy.length > 1) {
    const names = busy.map(({ port, portName }) => `${port} (${portName})`).join(', ');
    throw new StartError(
      `These ports are already in use: ${names}. Palaver may be running already; stop it, or set these variables to other ports.`,
    );
  }
  if (first) {
    throw new StartError(
      `Port ${first.port} is already in use; stop the other program or set ${first.portName} to another port.`,
    );
  }
}

async function isBusy({ host, port }: Place): Promise<boolean> {
  if (port === 0) return false;
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'EADDRINUSE'));
    server.listen({ host, port }, () => server.close(() => resolve(false)));
  });
}
