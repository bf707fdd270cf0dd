import { asRecord, OracleError, toOracleError } from './oracle-error.ts';
import { withRetries } from './retry-policy.ts';

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
  payee?: string | undefined;
}

export interface ConfigOverrides {
  baseUrl?: string | undefined;
  wsUrl?: string | undefined;
}

/** What a gated query gateway asks for. A page shows it to everyone who opens it: use a key that may only read. */
export interface GatewayAccess {
  apiKey?: string | undefined;
  /** A delegation or a short-lived token of the user, where the gateway takes UCANs. */
  ucan?: string | undefined;
  /** Where it serves what the protocol has under `/ixo`. */
  prefix?: string | undefined;
}

export interface ResolveOptions {
  oracleDid: string;
  gatewayUrl?: string | undefined;
  gatewayAccess?: GatewayAccess | undefined;
  overrides?: ConfigOverrides | undefined;
  fetch?: typeof globalThis.fetch | undefined;
  /** How long a gateway that is unreachable or starting is asked again. */
  retryForMs?: number | undefined;
}

type Reading = Pick<ResolveOptions, 'fetch' | 'retryForMs'>;

const timeoutMs = 15_000;
const defaultRetryMs = 10_000;

/** Where agents are looked up when neither the application nor the page's own server names a gateway. */
export const publicGatewayUrl = 'https://impacthub.ixo.world/rest';

/** An agent's addresses and terms: from the overrides, the document of a `did:web`, or the first gateway that knows its entity. */
export async function resolveOracleConfig(options: ResolveOptions): Promise<OracleConfig> {
  const { oracleDid, overrides: { baseUrl, wsUrl } = {} } = options;
  if (baseUrl) return { apiUrl: baseUrl, socketUrl: wsUrl ?? baseUrl };
  const found = await findAgent(options);
  if (!found.apiUrl) throw new OracleError(`${oracleDid} names no oracleService.`, { code: 'ORACLE_UNREACHABLE' });
  const terms = parseTerms(found.termsUrl ? await read(found.termsUrl, options) : {});
  return {
    apiUrl: found.apiUrl,
    socketUrl: wsUrl ?? found.socketUrl ?? found.apiUrl,
    payee: found.payee,
    ...terms,
  };
}

async function findAgent(options: ResolveOptions): Promise<Partial<ReturnType<typeof parseEntity>>> {
  const { oracleDid, gatewayUrl, gatewayAccess = {} } = options;
  const documentUrl = toDocumentUrl(oracleDid);
  if (documentUrl) return parseDocument(await read(documentUrl, options));
  const entityUrl = (gateway: string, prefix = '/ixo') =>
    `${gateway.replace(/\/+$/, '')}${prefix.replace(/\/+$/, '')}/entity/${encodeURIComponent(oracleDid)}`;
  if (gatewayUrl) {
    const reply = await read(entityUrl(gatewayUrl, gatewayAccess.prefix), options, gatewayAccess);
    return parseEntity(reply);
  }
  const { location } = globalThis as { location?: { origin: string } };
  if (location?.origin.startsWith('http')) {
    // Most pages are not served beside a gateway; one question is enough to know.
    const own = parseEntity(await ask(entityUrl(location.origin), options).catch(() => undefined));
    if (own.apiUrl) return own;
  }
  return parseEntity(await read(entityUrl(publicGatewayUrl), options));
}

export async function findAgentDid(url: string, options: Reading = {}): Promise<string> {
  const address = `${url.replace(/\/+$/, '')}/.well-known/did.json`;
  const { id } = asRecord(await read(address, options)) ?? {};
  if (typeof id === 'string' && id.startsWith('did:')) return id;
  throw new OracleError(`${address} names no DID.`, { code: 'ORACLE_UNREACHABLE' });
}

function read(url: string, options: Reading, access?: GatewayAccess): Promise<unknown> {
  const { retryForMs = defaultRetryMs } = options;
  return withRetries(() => ask(url, options, access), new AbortController().signal, retryForMs);
}

async function ask(url: string, { fetch = globalThis.fetch }: Reading, access?: GatewayAccess): Promise<unknown> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error('no reply in time')), timeoutMs);
  try {
    const headers = {
      ...(access?.apiKey && { 'x-api-key': access.apiKey }),
      ...(access?.ucan && { 'x-ucan-delegation': access.ucan }),
    };
    const response = await fetch(url, { signal: late.signal, headers }).catch((cause: unknown) => {
      throw new OracleError(`${new URL(url).origin} cannot be reached.`, { code: 'NETWORK_ERROR', cause });
    });
    if (access && (response.status === 401 || response.status === 403))
      throw new OracleError(
        "The query gateway does not take this page's credential: a fault of the configuration. Set gatewayAccess to one that it admits.",
        { code: 'GATEWAY_ACCESS', status: response.status },
      );
    if (!response.ok) throw await toOracleError(response);
    return await response.json();
  } finally {
    clearTimeout(timer);
  }
}

/** Where a `did:web` has its document; undefined for other DIDs. A host on this machine is asked without TLS. */
function toDocumentUrl(did: string): string | undefined {
  const [, host, path = ''] = /^did:web:([A-Za-z0-9.-]+(?:%3A\d+)?)((?::[A-Za-z0-9._-]+)*)$/i.exec(did) ?? [];
  if (!host) return undefined;
  const scheme = /^(localhost|127\.0\.0\.1)(%|$)/i.test(host) ? 'http' : 'https';
  const folder = path === '' ? '/.well-known' : path.replaceAll(':', '/');
  return `${scheme}://${decodeURIComponent(host)}${folder}/did.json`;
}

function parseDocument(document: unknown) {
  const { service, linkedResource } = asRecord(document) ?? {};
  return {
    apiUrl: findEndpoint(service, 'oracleService'),
    socketUrl: findEndpoint(service, 'wsService'),
    termsUrl: findEndpoint(linkedResource, 'oracleConfig', /^(https?:\/\/|data:application\/json[,;])/),
  };
}

function parseEntity(reply: unknown) {
  const { entity, iidDocument } = asRecord(reply) ?? {};
  const accounts = toRecords(asRecord(entity)?.accounts);
  const account = accounts.find(({ name }) => name === 'admin') ?? accounts[0];
  const payee = typeof account?.address === 'string' ? account.address : undefined;
  return { ...parseDocument(iidDocument), payee };
}

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
