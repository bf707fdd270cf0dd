import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Chain } from '../chain.ts';
import { refuseArgument } from '../refusal.ts';
import { answer, type Query, type View } from './query.ts';

const { version } = createRequire(import.meta.url)('../../package.json');

/** The node's own service: who it is and how far it is. */
export const nodeQueries = {
  GetNodeInfo: ({ chain }) =>
    answer({
      defaultNodeInfo: { network: chain.id, version, moniker: 'palaver development node', other: {} },
      applicationVersion: { name: 'palaver', appName: 'devnode', version },
    }),
  GetSyncing: () => answer({ syncing: false }),
  GetLatestBlock: (view) => answer(toBlock(view, view.chain.latestHeight())),
  GetBlockByHeight(view, { height }: { height: bigint }) {
    if (height <= 0n) return refuseArgument('requested block height must be greater than 0');
    if (height > BigInt(view.chain.latestHeight())) {
      return refuseArgument('requested block height is bigger then the chain length');
    }
    return answer(toBlock(view, Number(height)));
  },
} satisfies Record<string, Query>;

/** Hashes of blocks follow from the height, so that two nodes of one configuration agree on them. */
function toBlock({ chain, txs }: View, height: number): Record<string, unknown> {
  const header = {
    version: { block: 11n },
    chainId: chain.id,
    height: BigInt(height),
    time: timestampFromDate(chain.timeOf(height)),
    lastBlockId: toBlockId(chain, height - 1),
  };
  const held = txs.records().filter((record) => record.height === height);
  const block = { header, data: { txs: held.map(({ tx }) => tx.bytes) }, evidence: {} };
  return { blockId: toBlockId(chain, height), block, sdkBlock: block };
}

function toBlockId(chain: Chain, height: number): Record<string, unknown> {
  const hash = height > 0 ? createHash('sha256').update(`${chain.id}/${height}`).digest() : new Uint8Array();
  return { hash, partSetHeader: {} };
}
