import { defaultPorts } from '@palaver/contract';
import { baseVariables, envBoolean, envInteger, envList, envUrl, type VariableMeta } from '@palaver/service-kit';
import { envOrigins, isTrue } from '@palaver/service-kit/internal';
import { z } from 'zod';
import type { RouteOptions } from './route-table.ts';
import { defaultRpcMethods } from './rpc/rpc-client.ts';

const address = /^(?:tls:\/\/)?(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}$/;
const prefix = /^(?:\/[A-Za-z0-9._~-]+)+$/;
const maxMs = 86_400_000;

export const gatewayConfigSchema = z
  .object({
    ...baseVariables({ port: defaultPorts.gateway }),
    GATEWAY_UPSTREAMS: envList()
      .refine(
        (list) => list.length > 0 && list.every((item) => address.test(item)),
        'expected a comma-separated list of host:port or tls://host:port',
      )
      .prefault('127.0.0.1:9090')
      .meta({
        description: 'The gRPC nodes behind the gateway; several are balanced.',
        example: 'node-a.example:9090,tls://node-b.example:443',
        inProduction: (text, { env, isExposed }) =>
          text === undefined && isExposed && !isTrue(env.GATEWAY_ALLOW_DEVNODE)
            ? 'production needs a real node; GATEWAY_ALLOW_DEVNODE=true allows the development node'
            : undefined,
      } satisfies VariableMeta),
    GATEWAY_ALLOW_DEVNODE: envBoolean()
      .prefault('false')
      .meta({ description: 'Allow the development node, whose data is made up, in production.' }),
    GATEWAY_TLS_CA_FILE: z.string().optional().meta({
      description: 'Certificates (PEM) to trust for tls:// nodes instead of the well-known authorities.',
      example: '/etc/palaver/nodes.pem',
    }),
    GATEWAY_DESCRIPTORS: z.string().optional().meta({
      description:
        'A FileDescriptorSet file or a folder of .proto files; without it the nodes are asked by server reflection.',
      example: '/etc/palaver/protocol.binpb',
    }),
    GATEWAY_SOURCE_PREFIX: envPrefix().prefault('/ixo').meta({
      description: 'Routes annotated under this prefix are served under GATEWAY_PREFIX.',
      example: '/ixo',
    }),
    GATEWAY_PREFIX: envPrefix().optional().meta({
      description: 'The prefix the routes of GATEWAY_SOURCE_PREFIX are served under; by default the same.',
      example: '/protocol',
    }),
    GATEWAY_LEGACY_PREFIXES: envList()
      .refine(
        (list) => list.every((item) => prefix.test(item)),
        'expected a comma-separated list of paths such as /old',
      )
      .prefault('')
      .meta({
        description: 'Prefixes that also answer, marked as deprecated.',
        example: '/old,/older/v1',
      }),
    GATEWAY_ROUTE_PRECEDENCE: z.enum(['first', 'last'], { error: 'expected first or last' }).prefault('first').meta({
      description:
        'Which of several routes that match a path answers: the first registered, as on Cosmos SDK nodes, or the last, as in grpc-gateway 2.',
      example: 'last',
    }),
    GATEWAY_TIMEOUT_MS: envInteger({ min: 1, max: 600_000 })
      .prefault('10000')
      .meta({ description: 'Longest wait for an answer of a node.' }),
    GATEWAY_MAX_LAG_BLOCKS: envInteger({ min: 0, max: 1_000_000 }).prefault('2').meta({
      description: 'How many blocks a node may be behind the highest one; those further behind are not asked.',
    }),
    GATEWAY_HALTED_AFTER_MS: envInteger({ min: 1_000, max: maxMs })
      .prefault('60000')
      .meta({ description: 'A chain without a new block for this long is shown as halted.' }),
    GATEWAY_CACHE_TTL_MS: envInteger({ min: 0, max: maxMs }).prefault('1000').meta({
      description:
        'How long an answer about the latest block is cached: about the time of a block. 0 turns the cache off.',
    }),
    GATEWAY_CACHE_MB: envInteger({ min: 1, max: 65_536 })
      .prefault('64')
      .meta({ description: 'Memory for cached answers, in MiB.' }),
    GATEWAY_STALE_IF_ERROR_MS: envInteger({ min: 0, max: maxMs })
      .prefault('0')
      .meta({ description: 'How long after it expired a cached answer is served while the node fails. 0 is off.' }),
    GATEWAY_FORWARD_AUTH: envBoolean()
      .prefault('false')
      .meta({ description: 'Forward the Authorization header to the nodes.' }),
    GATEWAY_AUTH: z
      .enum(['none', 'api-key', 'ucan'], { error: 'expected none, api-key or ucan' })
      .prefault('none')
      .meta({
        description: 'Who may send queries: anyone, holders of an API key, or holders of a UCAN.',
        example: 'api-key',
      }),
    GATEWAY_API_KEYS_FILE: z.string().optional().meta({
      description:
        'JSON file of the API keys, [{ name, sha256, perMinute?, routes? }]; needed with GATEWAY_AUTH=api-key.',
      example: '/etc/palaver/api-keys.json',
    }),
    GATEWAY_DIDS: envDids().prefault('').meta({
      description: 'The DIDs that UCANs for this gateway may have as their audience; needed with GATEWAY_AUTH=ucan.',
      example: 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK',
    }),
    GATEWAY_UCAN_ISSUERS: envDids().prefault('').meta({
      description:
        'The DIDs whose UCANs, or whose delegations as proofs, are accepted. If not set, those of GATEWAY_DIDS.',
      example: 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK',
    }),
    GATEWAY_UCAN_ABILITY: z
      .string()
      .regex(/^oracle\/[a-z0-9/*-]{1,100}$/, 'expected oracle/…')
      .optional()
      .meta({ description: 'The ability that a UCAN must have to be accepted.', example: 'oracle/query' }),
    GATEWAY_TX: envBoolean().prefault('false').meta({
      description: 'Serve the POST routes of the transaction service: simulate, broadcast, encode and decode.',
    }),
    GATEWAY_RPC: envUrl('http:', 'https:').optional().meta({
      description: 'The CometBFT RPC of a node; /rpc, /rpc/websocket and /events are served when it is set.',
      example: 'http://node-a.example:26657',
    }),
    GATEWAY_RPC_METHODS: envList()
      .refine((list) => list.every((item) => /^[a-z_]+$/.test(item)), 'expected a comma-separated list of RPC methods')
      .prefault(defaultRpcMethods.join())
      .meta({ description: 'The RPC methods that are passed on.', example: 'status,abci_query,tx_search' }),
    GATEWAY_EXTENSIONS: z.string().optional().meta({
      description: 'A module with code of your own: `matchHeader`, `writeError`, `interceptors` (docs/gateway.md).',
      example: './gateway-extensions.ts',
    }),
    GATEWAY_RATE_LIMIT_PER_MINUTE: envInteger({ min: 0, max: 10_000_000 })
      .prefault('0')
      .meta({ description: 'Queries a minute from one client address. 0 is off.' }),
    CORS_ORIGIN: envOrigins().optional().meta({
      description:
        'Origins whose pages may call the gateway; without it only pages of the same origin can. `http://localhost:*` is every port of this machine.',
      example: 'https://app.example',
    }),
  })
  .refine((config) => config.GATEWAY_AUTH !== 'api-key' || config.GATEWAY_API_KEYS_FILE !== undefined, {
    path: ['GATEWAY_API_KEYS_FILE'],
    error: 'is needed with GATEWAY_AUTH=api-key',
  })
  .refine((config) => config.GATEWAY_AUTH !== 'ucan' || config.GATEWAY_DIDS.length > 0, {
    path: ['GATEWAY_DIDS'],
    error: 'is needed with GATEWAY_AUTH=ucan',
  })
  .refine(
    ({ GATEWAY_AUTH, GATEWAY_UCAN_ISSUERS, GATEWAY_UCAN_ABILITY }) =>
      GATEWAY_AUTH !== 'ucan' || GATEWAY_UCAN_ISSUERS.length > 0 || GATEWAY_UCAN_ABILITY !== undefined,
    {
      path: ['GATEWAY_UCAN_ISSUERS'],
      error: 'this or GATEWAY_UCAN_ABILITY is needed with GATEWAY_AUTH=ucan: anyone can make a key',
    },
  );

export type GatewayConfig = Readonly<z.infer<typeof gatewayConfigSchema>>;

export function toRouteOptions(config: GatewayConfig): RouteOptions {
  const { GATEWAY_SOURCE_PREFIX: source, GATEWAY_PREFIX: served = source, GATEWAY_LEGACY_PREFIXES: legacy } = config;
  const { GATEWAY_ROUTE_PRECEDENCE: precedence, GATEWAY_TX: hasWrites } = config;
  return { source, served, legacy, precedence, hasWrites };
}

function envDids() {
  return envList().refine(
    (list) => list.every((item) => /^did:[a-z0-9]+:\S+$/.test(item)),
    'expected a comma-separated list of DIDs',
  );
}

function envPrefix() {
  return z.string().regex(prefix, 'expected a path such as /ixo, without a slash at its end');
}
