import { defaultPorts } from '@palaver/contract';
import { type CheckNodeOptions, checkNode } from '@palaver/gateway/check-gateway';
import { createGatewayClient } from '@palaver/protocol';
import { toGatewayAccess } from '@palaver/protocol/internal';
import { baseVariables, createLogger, type Env } from '@palaver/service-kit';
import {
  fetchBounded,
  limitResponses,
  maskText,
  openRedis,
  parseConfig,
  prepareDataDir,
  toReachableHost,
} from '@palaver/service-kit/internal';
import { openStore } from '@palaver/store';
import { checkCipher } from '@palaver/store/internal';
import { z } from 'zod';
import { findDatabases } from '../databases.ts';
import { misspeltVariables, type ServiceEntry, services, unknownVariables } from '../services.ts';

type Findings = Finding | Finding[];
type Check = (env: Env) => Findings | Promise<Findings>;

export async function* examine(env: Env): AsyncGenerator<Finding> {
  const checks: Check[] = [
    checkRuntime,
    checkConfig,
    checkData,
    checkDatabase,
    checkRedis,
    checkModel,
    checkNodes,
    checkRpc,
    checkGatewayAccess,
    checkOptions,
    checkRunning,
  ];
  for (const check of checks) yield* [await check(env)].flat();
}

function toFinding(what: string, fault: string | undefined, remedy: string, found: string): Finding {
  return fault ? { what, state: 'fault', found: fault, remedy } : { what, state: 'ok', found };
}

const toOff = (what: string, found: string, remedy: string): Finding => ({ what, state: 'off', found, remedy });

function checkRuntime(): Finding {
  const { version } = process;
  const isOld = Number(process.versions.node.split('.')[0]) < 24;
  return toFinding('Node', isOld ? version : undefined, 'run npm install, which brings Node 24', version);
}

function checkConfig(env: Env): Finding[] {
  const faults = Object.values<ServiceEntry>(services).flatMap(({ schema, portName }) => {
    const result = parseConfig(schema, env, { names: { PORT: portName } });
    return 'faults' in result ? result.faults : [];
  });
  faults.push(...unknownVariables(env), ...misspeltVariables(env));
  if (faults.length === 0) return [{ what: 'configuration', state: 'ok', found: 'every variable is right' }];
  return [...new Set(faults)].map((fault) => toFinding('configuration', fault, 'see .env.example', ''));
}

function checkData(env: Env): Finding {
  const folder = env.DATA_DIR || './data';
  try {
    return { what: 'data folder', state: 'ok', found: prepareDataDir(folder) };
  } catch (error) {
    return { what: 'data folder', state: 'fault', found: (error as Error).message };
  }
}

async function checkDatabase(env: Env): Promise<Finding> {
  const what = 'database';
  const result = parseConfig(z.object({ DATA_ENCRYPTION_KEY: baseVariables({ port: 0 }).DATA_ENCRYPTION_KEY }), env);
  const keys = 'faults' in result ? undefined : result.config.DATA_ENCRYPTION_KEY;
  // Wrong keys are reported with the configuration; without keys, the database cannot be read.
  for (const { url } of keys ? findDatabases(env).databases : []) {
    const fault = await reachDatabase(url, keys ?? []);
    if (fault) return { what, state: 'fault', found: fault, remedy: 'check DATABASE_URL and DATA_ENCRYPTION_KEY' };
  }
  if (env.DATABASE_URL) return { what, state: 'ok', found: 'answers' };
  const remedy = 'DATABASE_URL=postgres://… moves it to PostgreSQL';
  return { what, state: 'ok', found: 'embedded SQLite in the data folder', remedy };
}

async function checkRedis({ REDIS_URL: url }: Env): Promise<Finding> {
  const what = 'Redis';
  if (!url)
    return toOff(what, 'not set; a single instance needs none', 'REDIS_URL=redis://… connects several instances');
  return toFinding(what, await reachRedis(url), 'check REDIS_URL', 'answers');
}

async function checkModel({ LLM_PROVIDER, LLM_BASE_URL, LLM_API_KEY, LLM_MODEL }: Env): Promise<Finding> {
  const what = 'language model';
  if (LLM_BASE_URL) {
    const found = `${LLM_MODEL ?? 'default model'} at ${LLM_BASE_URL}`;
    return toFinding(what, await reachHttp(LLM_BASE_URL), 'check LLM_BASE_URL', found);
  }
  if (!LLM_PROVIDER || LLM_PROVIDER === 'offline') {
    const remedy = 'set LLM_PROVIDER and LLM_API_KEY, or LLM_BASE_URL and LLM_MODEL, for real answers';
    return toOff(what, 'the offline model, which follows simple requests', remedy);
  }
  if (!LLM_API_KEY) return { what, state: 'fault', found: `${LLM_PROVIDER} without a key`, remedy: 'set LLM_API_KEY' };
  return { what, state: 'ok', found: `${LLM_PROVIDER}, ${LLM_MODEL ?? 'its default model'} (its key was not tried)` };
}

async function checkNodes(env: Env): Promise<Findings> {
  const { GATEWAY_UPSTREAMS: list, GATEWAY_TLS_CA_FILE: caFile, GATEWAY_DESCRIPTORS: descriptors } = env;
  const what = 'protocol node';
  if (!list) return toOff(what, 'the embedded development node', 'GATEWAY_UPSTREAMS=host:9090 points at a real one');
  const addresses = list.split(',').map((address) => address.trim());
  return Promise.all(
    addresses.filter(Boolean).map(async (address) => {
      const fault = await reachNode(address, { caFile, hasDescriptors: Boolean(descriptors) });
      const remedy = 'check GATEWAY_UPSTREAMS and GATEWAY_TLS_CA_FILE';
      return toFinding(what, fault, remedy, `${address} answers gRPC calls`);
    }),
  );
}

async function checkRpc({ GATEWAY_RPC: url }: Env): Promise<Findings> {
  return url ? toFinding('RPC of the node', await reachRpc(url), 'check GATEWAY_RPC', 'it answers') : [];
}

/** A gateway that asks for a credential must admit ours, or the services get no answers from it. */
async function checkGatewayAccess(env: Env): Promise<Finding[]> {
  const access = toGatewayAccess(env);
  if (!access) return [];
  const what = 'query gateway';
  const result = await createGatewayClient(access).get('/ixo/claims/params');
  if (result.ok || result.kind !== 'access') return [];
  return [{ what, state: 'fault', found: `${access.url} answers ${result.status}`, remedy: result.message }];
}

const options: { what: string; needs: string[]; gives: string }[] = [
  { what: 'operator token', needs: ['OPERATOR_TOKEN'], gives: 'operators’ routes from other machines' },
  { what: 'data key', needs: ['DATA_ENCRYPTION_KEY'], gives: 'encryption of personal data in the database' },
  { what: 'PIN key', needs: ['PIN_ENCRYPTION_KEY'], gives: 'a PIN key of your own, which production needs' },
  { what: 'MCP servers', needs: ['MCP_SERVERS'], gives: 'tools from outside' },
  { what: 'Slack', needs: ['SLACK_SIGNING_SECRET', 'SLACK_BOT_TOKEN'], gives: 'the agent in Slack' },
  { what: 'LiveKit', needs: ['LIVEKIT_URL', 'LIVEKIT_API_KEY', 'LIVEKIT_API_SECRET'], gives: 'voice and video calls' },
  { what: 'credits', needs: ['CREDITS_ENABLED'], gives: 'payment before answers' },
];

function checkOptions(env: Env): Finding[] {
  return options.map(({ what, needs, gives }): Finding => {
    const missing = needs.filter((name) => !env[name]);
    if (missing.length === 0) return { what, state: 'ok', found: 'set' };
    const remedy = `set ${missing.join(', ')} for ${gives}`;
    return missing.length === needs.length
      ? toOff(what, 'not set', remedy)
      : { what, state: 'fault', found: 'set in part', remedy };
  });
}

async function checkRunning(env: Env): Promise<Finding[]> {
  const { agent, gateway, ussd } = services;
  return Promise.all(
    [agent, gateway, ussd].map(async ({ name, title, portName }): Promise<Finding> => {
      const url = `http://${toReachableHost(env.HOST || '127.0.0.1')}:${env[portName] || defaultPorts[name]}`;
      const fault = await reachHttp(`${url}/health`);
      if (fault) return toOff(title, `not running at ${url}`, 'npm start');
      return { what: title, state: 'ok', found: `runs at ${url}` };
    }),
  );
}

/** `off` means not configured, which is fine. */
export interface Finding {
  what: string;
  state: 'ok' | 'off' | 'fault';
  found: string;
  remedy?: string;
}

// Each gives undefined if the other side answers, otherwise what was found in a sentence without secrets.

const timeoutMs = 3_000;

export const reachDatabase = (url: string, dataKeys: readonly Uint8Array[]) =>
  failureOf(async () => {
    const store = await openStore(url, { waitMs: timeoutMs, dataKeys });
    await checkCipher(store).finally(() => store.close());
  });

export const reachRedis = (url: string) =>
  failureOf(async () => {
    const redis = await openRedis(url, createLogger({ name: 'doctor', level: 'silent' }));
    await redis.ping().finally(() => redis.disconnect());
  });

/** Any answer counts, even a refusal: the server is running. */
export const reachHttp = (url: string) =>
  failureOf(async () => {
    await (await limitResponses()(url, { signal: AbortSignal.timeout(timeoutMs) })).body?.cancel();
  });

/** Makes a call, as the gateway does: an open port may belong to something else. */
export const reachNode = (address: string, options: CheckNodeOptions) =>
  failureOf(async () => {
    const fault = await checkNode(address, options);
    if (fault !== undefined) throw new Error(fault);
  });

export const reachRpc = (url: string) =>
  failureOf(async () => {
    const { ok, status } = await fetchBounded(`${url.replace(/\/+$/, '')}/health`, { timeoutMs });
    if (!ok) throw new Error(`the RPC answers ${status}`);
  });

async function failureOf(attempt: () => Promise<void>): Promise<string | undefined> {
  try {
    await attempt();
    return undefined;
  } catch (error) {
    const { message, cause } = error as Error;
    return maskText(cause instanceof Error && cause.message ? `${message} (${cause.message})` : message);
  }
}
