import { isIPv6 } from 'node:net';
import { type Logger, toListenError } from '@palaver/service-kit';
import { createChain } from './chain.ts';
import { createGrpcServer } from './grpc/create-grpc-server.ts';
import { getService, loadProtocol } from './protocol.ts';
import { bankQueries } from './queries/bank.ts';
import { claimsQueries } from './queries/claims.ts';
import { entityQueries } from './queries/entity.ts';
import { iidQueries } from './queries/iid.ts';
import { nodeQueries } from './queries/node.ts';
import type { Query } from './queries/query.ts';
import { tokenQueries } from './queries/token.ts';
import { createQueryMethods } from './query-methods.ts';
import { createReflectionMethods } from './reflection/reflection-methods.ts';
import { createReplyMemo } from './reply-memo.ts';
import type { AgentProfile } from './world/agent-profile.ts';
import { loadWorld } from './world/load-world.ts';

/** The services that answer from the seed. */
const seedQueries: Record<string, Record<string, Query>> = {
  'cosmos.bank.v1beta1.Query': bankQueries,
  'ixo.claims.v1beta1.Query': claimsQueries,
  'ixo.entity.v1beta1.Query': entityQueries,
  'ixo.iid.v1beta1.Query': iidQueries,
  'ixo.token.v1beta1.Query': tokenQueries,
};

const limits = { maxRequestBytes: 64 * 1024, maxReplyBytes: 16 * 1024 * 1024, idleMs: 5 * 60_000 };
const graceMs = 5_000;

export interface DevnodeOptions {
  logger: Logger;
  host?: string;
  /** 0 takes any free port. */
  port?: number;
  /** The variable that sets the port, named when it is taken. */
  portName?: string | undefined;
  /** A folder with seed files of one's own. */
  seed?: string | undefined;
  blockMs?: number;
  clock?: () => number;
  /** The agent that runs beside the node. What is left out comes from `agent.json` of the seed. */
  agent?: Partial<AgentProfile>;
}

export interface Devnode {
  port: number;
  /** `host:port`, as gRPC clients take it. */
  address: string;
  latestHeight(): number;
  close(): Promise<void>;
}

/** The development node, listening. */
export async function createDevnode(options: DevnodeOptions): Promise<Devnode> {
  const { logger, host = '127.0.0.1', port = 0, portName = 'PORT', blockMs = 5_000, clock = Date.now } = options;
  const protocol = await loadProtocol();
  const world = await loadWorld({ protocol, seed: options.seed, agent: options.agent });
  const chain = createChain({ clock, blockMs });
  const view = { world, chain };
  const memo = createReplyMemo();
  const nodeService = getService(protocol, 'cosmos.base.tendermint.v1beta1.Service');
  const methods = new Map([
    ...Object.entries(seedQueries).flatMap(([name, queries]) =>
      createQueryMethods({ service: getService(protocol, name), queries, view, memo }),
    ),
    ...createQueryMethods({ service: nodeService, queries: nodeQueries, view }),
    ...createReflectionMethods(protocol),
  ]);
  const server = createGrpcServer({
    methods,
    limits,
    onError: (error, path) => logger.error({ err: error, path }, 'a call failed'),
  });
  const bound = await server.listen({ host, port }).catch((error) => {
    throw toListenError(error, { host, port, portName });
  });
  return {
    port: bound,
    address: `${isIPv6(host) ? `[${host}]` : host}:${bound}`,
    latestHeight: chain.latestHeight,
    close: () => server.close(graceMs),
  };
}
