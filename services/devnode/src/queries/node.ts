import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { anyPack, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type Chain, refuse, refuseArgument, refuseMissing } from '../chain.ts';
import type { TxRecord } from '../txs/tx-pool.ts';
import { answer, type Query, type View } from './query.ts';

const { version } = createRequire(import.meta.url)('../../package.json');

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

/** Hashes of blocks follow from the height, so two nodes of one configuration agree on them. */
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

interface Search {
  query: string;
  events: string[];
  orderBy: number;
  page: bigint;
  limit: bigint;
}

const descending = 2;
const maxPage = 100;

export const txQueries = {
  BroadcastTx({ txs }, { txBytes }: { txBytes: Uint8Array }) {
    if (txBytes.length === 0) return refuseArgument('invalid empty tx');
    const sent = txs.broadcast(txBytes);
    const response = { txhash: sent.hash };
    if (sent.ok) return answer({ txResponse: response });
    return answer({ txResponse: { ...response, code: sent.code, codespace: sent.codespace, rawLog: sent.log } });
  },
  Simulate({ txs }, { txBytes }: { txBytes: Uint8Array }) {
    if (txBytes.length === 0) return refuseArgument('empty txBytes is not allowed');
    const simulated = txs.simulate(txBytes);
    if (!simulated.ok) return refuse('UNKNOWN', simulated.log);
    const { gasUsed, events } = simulated;
    return answer({ gasInfo: { gasUsed: BigInt(gasUsed) }, result: { events } });
  },
  GetTx(view, { hash }: { hash: string }) {
    if (hash === '') return refuseArgument('tx hash cannot be empty');
    const record = view.txs.find(hash);
    if (!record) return refuseMissing(`tx not found: ${hash}`);
    return answer({ tx: record.tx.message, txResponse: toTxResponse(view, record) });
  },
  GetTxsEvent(view, search: Search) {
    const conditions = parseSearch(search.query || search.events.join(' AND '));
    if (!conditions)
      return refuseArgument("the search must be conditions such as transfer.recipient='…' joined by AND");
    const found = view.txs.records().filter((record) => matchesSearch(record, conditions));
    if (search.orderBy === descending) found.reverse();
    const limit = Math.min(Number(search.limit) || maxPage, maxPage);
    const start = Math.max(Number(search.page) - 1, 0) * limit;
    const page = found.slice(start, start + limit);
    return answer({
      txs: page.map(({ tx }) => tx.message),
      txResponses: page.map((record) => toTxResponse(view, record)),
      total: BigInt(found.length),
    });
  },
} satisfies Record<string, Query>;

function toTxResponse({ chain, descs }: View, record: TxRecord) {
  const { tx, height, code, codespace, log, gasUsed, events } = record;
  return {
    height: BigInt(height),
    txhash: tx.hash,
    code,
    codespace,
    rawLog: log,
    events,
    gasWanted: tx.gasLimit,
    gasUsed: BigInt(gasUsed),
    tx: anyPack(descs.tx, tx.message),
    timestamp: chain.timeOf(height).toISOString().replace('.000', ''),
  };
}

interface Condition {
  key: string;
  operator: string;
  value: string;
}

const condition = /^\s*([\w./-]+)\s*(=|<=|>=|<|>)\s*(?:'([^']*)'|(\d+))\s*$/;

/** The conditions of a search such as `transfer.recipient='ixo1…' AND tx.height>=5`; undefined if it cannot be read. */
function parseSearch(query: string): Condition[] | undefined {
  const conditions = query.split(/\s+AND\s+/).map((text) => {
    const [, key, operator, quoted, number] = condition.exec(text) ?? [];
    return key === undefined || operator === undefined ? undefined : { key, operator, value: quoted ?? number ?? '' };
  });
  return conditions.every((found) => found !== undefined) ? conditions : undefined;
}

function matchesSearch(record: TxRecord, conditions: readonly Condition[]): boolean {
  return conditions.every(({ key, operator, value }) => {
    if (key === 'tx.height') return compare(record.height, operator, Number(value));
    if (key === 'tx.hash') return record.tx.hash === value.toUpperCase();
    return record.events.some(({ type, attributes }) =>
      attributes.some(
        (attribute) =>
          `${type}.${attribute.key}` === key &&
          (operator === '=' ? attribute.value === value : compare(Number(attribute.value), operator, Number(value))),
      ),
    );
  });
}

function compare(left: number, operator: string, right: number): boolean {
  if (operator === '=') return left === right;
  if (operator === '<=') return left <= right;
  if (operator === '>=') return left >= right;
  return operator === '<' ? left < right : left > right;
}
