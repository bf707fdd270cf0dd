import { defineOraclePlugin, type OraclePlugin, type Tool, ToolError, tool } from '@palaver/agent';
import { didPattern } from '@palaver/contract';
import { createGatewayClient, type GatewayClient, type GatewayFault } from '@palaver/protocol';
import { gatewayVariables, toGatewayAccess } from '@palaver/protocol/internal';
import { envUrl } from '@palaver/service-kit';
import { z } from 'zod';

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

interface Question<Shape extends z.ZodRawShape> {
  description: string;
  input: Shape;
  path(args: z.infer<z.ZodObject<Shape>>): string[];
  what(args: z.infer<z.ZodObject<Shape>>): string;
  query?(args: z.infer<z.ZodObject<Shape>>): Record<string, string | undefined>;
}

const toPageQuery = ({ limit, key }: { limit: number; key?: string | undefined }) => ({
  'pagination.limit': String(limit),
  'pagination.key': key,
});

export function createProtocolQueryPlugin(): OraclePlugin {
  return defineOraclePlugin({
    name: 'protocol-query',
    version: '1.0.0',
    manifest: {
      title: 'Protocol',
      summary: 'Reads entities, claims, collections, tokens, balances and DIDs of the protocol. It never writes.',
      whenToUse: ['the user asks about an entity, a claim, a token, a balance or a DID of the protocol'],
      whenNotToUse: ['transfers, submissions and anything else that changes the protocol'],
      examples: [{ user: 'What is did:ixo:entity:abc123?', tool: 'get_entity' }],
      tags: ['protocol', 'entity', 'claim', 'token', 'did'],
      category: 'integration',
      visibility: 'always',
      stability: 'stable',
    },
    configSchema,
    autoDetect: (env) => Boolean(env.GATEWAY_URL),
    autoDetectHint: 'set GATEWAY_URL',
    getTools({ config }) {
      const gateway = createGatewayClient(toGatewayAccess(config) ?? { url: config.GATEWAY_URL });
      const ask = <Shape extends z.ZodRawShape>(question: Question<Shape>) => toTool(gateway, question);
      return {
        get_entity: ask({
          description: 'One entity (organisation, project, asset, agent) with its DID document',
          input: { id: did },
          path: (args) => ['ixo', 'entity', args.id],
          what: (args) => `entity ${args.id}`,
        }),
        list_entities: ask({
          description: 'Entities, a page at a time',
          input: page,
          path: () => ['ixo', 'entity'],
          what: () => 'entities',
          query: toPageQuery,
        }),
        get_claim: ask({
          description: 'One claim: who made it, in which collection, how it was evaluated and paid',
          input: { id },
          path: (args) => ['ixo', 'claims', 'claim', args.id],
          what: (args) => `claim ${args.id}`,
        }),
        get_claims: ask({
          description: 'Claims, a page at a time',
          input: page,
          path: () => ['ixo', 'claims', 'claims'],
          what: () => 'claims',
          query: toPageQuery,
        }),
        get_collection: ask({
          description: 'One collection of claims: what it is about, its quota and its payments',
          input: { id },
          path: (args) => ['ixo', 'claims', 'collection', args.id],
          what: (args) => `collection ${args.id}`,
        }),
        get_token: ask({
          description: 'What is known of one token',
          input: { id },
          path: (args) => ['ixo', 'token', 'metadata', args.id],
          what: (args) => `token ${args.id}`,
        }),
        get_token_params: ask({
          description: 'The parameters of the token module',
          input: {},
          path: () => ['ixo', 'token', 'params'],
          what: () => 'token parameters',
        }),
        get_balances: ask({
          description: 'What an account holds',
          input: { address: id },
          path: (args) => ['cosmos', 'bank', 'v1beta1', 'balances', args.address],
          what: (args) => `account ${args.address}`,
        }),
        resolve_did: ask({
          description: 'The document of a DID: keys, services and linked resources',
          input: { did },
          path: (args) => ['ixo', 'did', 'dids', args.did],
          what: (args) => `DID ${args.did}`,
        }),
      };
    },
  });
}

function toTool<Shape extends z.ZodRawShape>(gateway: GatewayClient, question: Question<Shape>): Tool {
  const { description, input, path, what, query } = question;
  return tool({
    description,
    inputSchema: z.object(input),
    repeatable: true,
    public: true,
    execute: (args, { abortSignal: signal }) =>
      askGateway({ gateway, path: path(args), query: query?.(args) ?? {}, what: what(args), signal }),
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

function toToolError({ kind, status, message }: GatewayFault, what: string): ToolError {
  switch (kind) {
    case 'missing':
      return new ToolError('TOOL_FAILED', `the protocol has no ${what}`);
    case 'invalid':
      return new ToolError('TOOL_FAILED', `the protocol refused the request: ${message}`);
    case 'access':
      return new ToolError('TOOL_UNAVAILABLE', `a fault of this agent's configuration: ${message}`);
    case 'unsupported':
      return new ToolError('TOOL_UNAVAILABLE', 'this protocol node does not support the query');
    case 'timeout':
      return new ToolError('TOOL_TIMEOUT', `the protocol did not answer within ${timeoutMs / 1000} s`);
    default:
      return new ToolError(
        'TOOL_UNAVAILABLE',
        `the protocol cannot ${status === undefined ? 'be reached' : 'answer'} at the moment`,
      );
  }
}
