import { asRecord, OracleError, toOracleError } from './oracle-error.ts';
import { persist } from './patience.ts';

export interface Price {
  denom: string;
  amount: string;
}

/** What is publicly known about an agent. */
export interface OracleConfig {
  apiUrl: string;
  socketUrl: string;
  oracleName?: string | undefined;
  model?: string | undefined;
  price?: Price | undefined;
  /** The account that is paid. */
  payee?: string | undefined;
}

export interface ConfigOverrides {
  baseUrl?: string | undefined;
  wsUrl?: string | undefined;
}

export interface ResolveOptions {
  oracleDid: string;
  gatewayUrl: string | undefined;
  overrides?: ConfigOverrides | undefined;
  fetch?: typeof globalThis.fetch | undefined;
  /** How long a gateway that is away or starting is asked again. */
  patienceMs?: number | undefined;
}

const timeoutMs = 15_000;
const defaultPatienceMs = 10_000;

/** An agent's addresses and terms, from its entity on the protocol. An overridden API address skips the look-up. */
export async function resolveOracleConfig(options: ResolveOptions): Promise<OracleConfig> {
  const { oracleDid, gatewayUrl, overrides: { baseUrl, wsUrl } = {} } = options;
  if (baseUrl) return { apiUrl: baseUrl, socketUrl: wsUrl ?? baseUrl };
  if (!gatewayUrl) {
    const message = 'Give OraclesProvider a gatewayUrl, or overrides.baseUrl, so that the agent can be found.';
    throw new OracleError(message, { code: 'GATEWAY_MISSING' });
  }
  const ask = async (url: string) => {
    const response = await (options.fetch ?? globalThis.fetch)(url, { signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) throw await toOracleError(response);
    return response.json();
  };
  const { patienceMs = defaultPatienceMs } = options;
  const read = (url: string) => persist(() => ask(url), new AbortController().signal, patienceMs);
  const found = await read(`${gatewayUrl.replace(/\/+$/, '')}/ixo/entity/${encodeURIComponent(oracleDid)}`);
  const config = parseEntity(found);
  if (!config.apiUrl) throw new OracleError(`${oracleDid} names no oracleService.`, { code: 'ORACLE_UNREACHABLE' });
  const terms = parseTerms(config.termsUrl ? await read(config.termsUrl) : {});
  return {
    apiUrl: config.apiUrl,
    socketUrl: wsUrl ?? config.socketUrl ?? config.apiUrl,
    payee: config.payee,
    ...terms,
  };
}

function parseEntity(reply: unknown) {
  const { entity, iidDocument } = asRecord(reply) ?? {};
  const { service, linkedResource } = asRecord(iidDocument) ?? {};
  const accounts = toRecords(asRecord(entity)?.accounts);
  const account = accounts.find(({ name }) => name === 'admin') ?? accounts[0];
  return {
    apiUrl: findEndpoint(service, 'oracleService'),
    socketUrl: findEndpoint(service, 'wsService'),
    termsUrl: findEndpoint(linkedResource, 'oracleConfig', /^(https?:\/\/|data:application\/json[,;])/),
    payee: typeof account?.address === 'string' ? account.address : undefined,
  };
}

/** The address of the entry with this type, or with an id that ends in it. */
function findEndpoint(entries: unknown, kind: string, allowed = /^(https?|wss?):\/\//): string | undefined {
  const entry = toRecords(entries).find(({ type, id }) => type === kind || String(id).endsWith(`#${kind}`));
  const endpoint = entry?.serviceEndpoint;
  return typeof endpoint === 'string' && allowed.test(endpoint) ? endpoint : undefined;
}

function toRecords(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(asRecord).filter((record) => record !== undefined) : [];
}

function parseTerms(value: unknown): Pick<OracleConfig, 'oracleName' | 'model' | 'price'> {
  const { oracleName, model, price } = asRecord(value) ?? {};
  const { denom, amount } = asRecord(price) ?? {};
  const hasPrice = typeof denom === 'string' && /^\d+$/.test(String(amount));
  return {
    ...(typeof oracleName === 'string' && { oracleName }),
    ...(typeof model === 'string' && { model }),
    ...(hasPrice && { price: { denom, amount: String(amount) } }),
  };
}
