import { anyPack } from '@bufbuild/protobuf/wkt';
import { refuse, refuseArgument, refuseMissing } from '../refusal.ts';
import { matchesSearch, parseSearch } from '../txs/find-txs.ts';
import type { TxRecord } from '../txs/tx-pool.ts';
import { answer, type Query, type View } from './query.ts';

interface Search {
  query: string;
  events: string[];
  orderBy: number;
  page: bigint;
  limit: bigint;
}

const descending = 2;
const maxPage = 100;

/** The transaction service: POST routes where the gateway has GATEWAY_TX. */
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
    ...{ code, codespace, rawLog: log, events },
    gasWanted: tx.gasLimit,
    gasUsed: BigInt(gasUsed),
    tx: anyPack(descs.tx, tx.message),
    timestamp: chain.timeOf(height).toISOString().replace('.000', ''),
  };
}
