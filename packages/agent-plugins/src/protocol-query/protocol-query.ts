import { defineOraclePlugin, type OraclePlugin, type Tool, ToolError, type ToolErrorCode, tool } from '@palaver/agent';
import { didPattern } from '@palaver/contract';
import { createGatewayClient, type GatewayClient, type GatewayFault } from '@palaver/protocol';
import { gatewayVariables, toGatewayAccess } from '@palaver/protocol/internal';
import { envUrl } from '@palaver/service-kit';
import { z } from 'zod';
import { toManifest } from '../plugin-parts.ts';

const configSchema = z.object({
  ...gatewayVariables,
  GATEWAY_URL: envUrl('http:', 'https:').meta({
    description: 'The query gateway that answers the protocol-query plugin.',
    example: 'http://127.0.0.1:1317',
  }),
});

const id = z.string().min(1).max(200);
const did = z.string().regex(didPattern, 'expected a DID such as did:ixo:entity:abc123');
const page = {
  limit: z.int().min(1).max(50).default(10).describe('How many'),
  key: z.string().max(500).optional().describe('next_key of the page before'),
};

interface Question {
  description: string;
  input?: z.ZodRawShape;
  /** Arguments are named in braces. */
  path: string;
  what: string;
}

const summary = 'Reads entities, claims, collections, tokens, balances and DIDs of the protocol. It never writes.';

export function createProtocolQueryPlugin(): OraclePlugin {
  return defineOraclePlugin({
    name: 'protocol-query',
    version: '1.0.0',
    manifest: toManifest('Protocol', summary, {
      whenToUse: ['the user asks about an entity, a claim, a token, a balance or a DID of the protocol'],
      whenNotToUse: ['transfers, submissions and anything else that changes the protocol'],
      examples: [{ user: 'What is did:ixo:entity:abc123?', tool: 'get_entity' }],
      tags: ['protocol', 'entity', 'claim', 'token', 'did'],
      category: 'integration',
    }),
    configSchema,
    autoDetect: (env) => Boolean(env.GATEWAY_URL),
    autoDetectHint: 'set GATEWAY_URL',
    getTools({ config }) {
      const gateway = createGatewayClient(toGatewayAccess(config) ?? { url: config.GATEWAY_URL });
      return Object.fromEntries(Object.entries(questions).map(([name, question]) => [name, toTool(gateway, question)]));
    },
  });
}

const questions: Record<string, Question> = {
  get_entity: {
    description: 'One entity (organisation, project, asset, agent) with its DID document',
    input: { id: did },
    path: 'ixo/entity/{id}',
    what: 'entity {id}',
  },
  list_entities: { description: 'Entities, a page at a time', input: page, path: 'ixo/entity', what: 'entities' },
  get_claim: {
    description: 'One claim: who made it, in which collection, how it was evaluated and paid',
    input: { id },
    path: 'ixo/claims/claim/{id}',
    what: 'claim {id}',
  },
  get_claims: { description: 'Claims, a page at a time', input: page, path: 'ixo/claims/claims', what: 'claims' },
  get_collection: {
    description: 'One collection of claims: what it is about, its quota and its payments',
    input: { id },
    path: 'ixo/claims/collection/{id}',
    what: 'collection {id}',
  },
  get_token: {
    description: 'What is known of one token',
    input: { id },
    path: 'ixo/token/metadata/{id}',
    what: 'token {id}',
  },
  get_token_params: {
    description: 'The parameters of the token module',
    path: 'ixo/token/params',
    what: 'token parameters',
  },
  get_balances: {
    description: 'What an account holds',
    input: { address: id },
    path: 'cosmos/bank/v1beta1/balances/{address}',
    what: 'account {address}',
  },
  resolve_did: {
    description: 'The document of a DID: keys, services and linked resources',
    input: { did },
    path: 'ixo/did/dids/{did}',
    what: 'DID {did}',
  },
};

function toTool(gateway: GatewayClient, { description, input = {}, path, what }: Question): Tool {
  return tool({
    description,
    inputSchema: z.object(input),
    repeatable: true,
    public: true,
    execute(args: Record<string, unknown>, { abortSignal: signal }) {
      const fill = (text: string) => text.replace(/\{(\w+)\}/g, (_whole, name: string) => String(args[name]));
      const { limit, key } = args;
      const query =
        input === page ? { 'pagination.limit': `${limit}`, 'pagination.key': key ? `${key}` : undefined } : {};
      return askGateway({ gateway, path: path.split('/').map(fill), query, what: fill(what), signal });
    },
  });
}

interface GatewayQuestion {
  gateway: GatewayClient;
  path: string[];
  query?: Record<string, string | undefined>;
  /** What is asked for, in words for the model. */
  what: string;
  signal: AbortSignal;
}

const timeoutMs = 3_000;

/** Asks the query gateway; every refusal becomes a sentence the model can pass on. */
export async function askGateway({ gateway, path, query = {}, what, signal }: GatewayQuestion): Promise<unknown> {
  const result = await gateway.get(`/${path.map(toSegment).join('/')}`, { query, signal, timeoutMs });
  if (result.ok) return result.value;
  signal.throwIfAborted();
  throw toToolError(result, what);
}

// Colons are data in the gateway's paths and more readable unencoded.
const toSegment = (text: string): string => encodeURIComponent(text).replaceAll('%3A', ':');

const codes: Partial<Record<GatewayFault['kind'], ToolErrorCode>> = {
  missing: 'TOOL_FAILED',
  invalid: 'TOOL_FAILED',
  timeout: 'TOOL_TIMEOUT',
};

function toToolError({ kind, status, message }: GatewayFault, what: string): ToolError {
  const unavailable = `the protocol cannot ${status === undefined ? 'be reached' : 'answer'} at the moment`;
  const words: Partial<Record<typeof kind, string>> = {
    missing: `the protocol has no ${what}`,
    invalid: `the protocol refused the request: ${message}`,
    access: `a fault of this agent's configuration: ${message}`,
    unsupported: 'this protocol node does not support the query',
    timeout: `the protocol did not answer within ${timeoutMs / 1000} s`,
  };
  return new ToolError(codes[kind] ?? 'TOOL_UNAVAILABLE', words[kind] ?? unavailable);
}
