import type { Logger } from '@palaver/service-kit';
import { createChain } from './chain.ts';
import { createGrpcServer } from './grpc.ts';
import { getMessage, getService, loadProtocol } from './protocol.ts';
import { authQueries, bankQueries, tokenQueries } from './queries/accounts.ts';
import { claimsQueries, entityQueries, iidQueries } from './queries/entities.ts';
import { nodeQueries, txQueries } from './queries/node.ts';
import { createQueryMethods, createReplyMemo, type Query } from './queries/query.ts';
import { createReflectionMethods } from './reflection.ts';
import { createTxLog, createTxPool, loadSeedTxs } from './txs/tx-pool.ts';
import { type AgentProfile, loadWorld } from './world/load-world.ts';

/** The services that answer from the world; their answers are kept until it changes. */
const worldQueries: Record<string, Record<string, Query>> = {
  'cosmos.bank.v1beta1.Query': bankQueries,
  'ixo.claims.v1beta1.Query': claimsQueries,
  'ixo.entity.v1beta1.Query': entityQueries,
  'ixo.iid.v1beta1.Query': iidQueries,
  'ixo.token.v1beta1.Query': tokenQueries,
};

const chainQueries: Record<string, Record<string, Query>> = {
  'cosmos.auth.v1beta1.Query': authQueries,
  'cosmos.base.tendermint.v1beta1.Service': nodeQueries,
  'cosmos.tx.v1beta1.Service': txQueries,
};

const limits = { maxRequestBytes: 64 * 1024, maxReplyBytes: 16 * 1024 * 1024, idleMs: 5 * 60_000 };
const graceMs = 5_000;

export interface DevnodeOptions {
  logger: Logger;
  seed?: string | undefined;
  blockMs?: number;
  clock?: () => number;
  dataDir?: string | undefined;
  /** The agent that runs beside the node. What is left out comes from `agent.json` of the seed. */
  agent?: Partial<AgentProfile>;
}

export async function createDevnode(options: DevnodeOptions) {
  const { logger, blockMs = 5_000, clock = Date.now } = options;
  const protocol = await loadProtocol();
  const world = await loadWorld({ protocol, seed: options.seed, agent: options.agent });
  const chain = createChain({ clock, blockMs });
  const memo = createReplyMemo();
  const log = createTxLog(options.dataDir);
  const past = options.seed === undefined ? loadSeedTxs() : [];
  const view = {
    world,
    chain,
    txs: createTxPool({ protocol, chain, world, log, past, onChange: () => memo.clear() }),
    descs: {
      account: getMessage(protocol, 'cosmos.auth.v1beta1.BaseAccount'),
      tx: getMessage(protocol, 'cosmos.tx.v1beta1.Tx'),
    },
  };
  const methods = new Map([
    ...Object.entries(worldQueries).flatMap(([name, queries]) =>
      createQueryMethods({ service: getService(protocol, name), queries, view, memo }),
    ),
    ...Object.entries(chainQueries).flatMap(([name, queries]) =>
      createQueryMethods({ service: getService(protocol, name), queries, view }),
    ),
    ...createReflectionMethods(protocol),
  ]);
  const server = createGrpcServer({
    methods,
    limits,
    onError: (error, path) => logger.error({ err: error, path }, 'a call failed'),
  });
  return {
    /** Resolves with the port; 0 takes any free one. */
    listen: server.listen,
    latestHeight: chain.latestHeight,
    close: () => server.close(graceMs),
  };
}

export type Devnode = Awaited<ReturnType<typeof createDevnode>>;
