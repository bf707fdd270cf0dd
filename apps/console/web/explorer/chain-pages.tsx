import { useQueries } from '@tanstack/react-query';
import { useState } from 'react';
import { formatMoment, formatNumber } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { Fault } from '../ui/fault.tsx';
import { Link } from '../ui/link.tsx';
import { Pager } from '../ui/pager.tsx';
import { Panel } from '../ui/panel.tsx';
import { Table } from '../ui/table.tsx';
import { AnswerBar } from './answer-bar.tsx';
import { askGateway, toBody, useAnswer } from './ask-gateway.ts';
import { shorten } from './protocol.ts';
import { findPath, type Route } from './routes.ts';

const pageSize = 10;

interface TxResponse {
  height: string;
  txhash: string;
  code?: number;
  raw_log?: string;
  timestamp?: string;
  tx?: { body?: { messages?: { '@type'?: string }[]; memo?: string } };
}

export function TransactionsPage({ routes }: { routes: Route[] }) {
  return <Transactions routes={routes} title={t('explorer.transactions')} search="tx.height>=1" />;
}

/** The transactions that a search of the node finds, the newest first. */
export function Transactions({ routes, title, search }: { routes: Route[]; title: string; search: string }) {
  const [page, setPage] = useState(1);
  const path = findPath(routes, '/tx/v1beta1/txs');
  const query = new URLSearchParams({
    query: search,
    order_by: 'ORDER_BY_DESC',
    page: `${page}`,
    limit: `${pageSize}`,
  });
  const { data, error } = useAnswer(path && `${path}?${query}`);
  if (!path) return <p className="empty">{t('explorer.noRouteFor', { what: title })}</p>;
  const body = data?.body as { tx_responses?: TxResponse[]; total?: string } | undefined;
  const found = body?.tx_responses ?? [];
  const total = Number(body?.total ?? 0);
  return (
    <Panel title={title} empty={body && found.length === 0 && t('explorer.noTransactions')}>
      {error && <Fault error={error} />}
      <Table
        label={title}
        heads={(['tx', 'block', 'time', 'messages', 'result'] as const).map((head) => t(`explorer.${head}`))}
      >
        {found.map(({ txhash, height, timestamp, code = 0, raw_log: log, tx }) => (
          <tr key={txhash}>
            <td>
              <Link href={`/explorer?page=tx&id=${txhash}`}>
                <code title={txhash}>{shorten(txhash)}</code>
              </Link>
            </td>
            <td className="numbers">
              <Link href={`/explorer?page=block&id=${height}`}>{height}</Link>
            </td>
            <td className="numbers">{formatMoment(timestamp)}</td>
            <td>
              {(tx?.body?.messages ?? []).map((message) => message['@type']?.split('.').at(-1)).join(', ')}
              {tx?.body?.memo && <p className="quiet small">{tx.body.memo}</p>}
            </td>
            <td>
              <span className={code === 0 ? 'badge badge-ok' : 'badge badge-danger'}>
                {code === 0 ? t('explorer.included') : (log ?? code)}
              </span>
            </td>
          </tr>
        ))}
      </Table>
      <Pager
        label={title}
        place={t('results.page', {
          first: Math.min((page - 1) * pageSize + 1, total),
          last: Math.min(page * pageSize, total),
          total,
        })}
        onPrevious={page > 1 ? () => setPage(page - 1) : undefined}
        onNext={page * pageSize < total ? () => setPage(page + 1) : undefined}
      />
      {data && <AnswerBar answer={data} />}
    </Panel>
  );
}

interface BlockBody {
  block?: { header?: { height?: string; time?: string }; data?: { txs?: string[] } };
}

/** The blocks from the latest one down. */
export function BlocksPage({ routes }: { routes: Route[] }) {
  const latestPath = findPath(routes, '/blocks/latest');
  const path = findPath(routes, '/blocks/{height}');
  const { data, error } = useAnswer(latestPath);
  const latest = Number((data?.body as BlockBody | undefined)?.block?.header?.height ?? 0);
  const [chosen, setChosen] = useState<number>();
  const top = chosen ?? latest;
  const heights = Array.from({ length: Math.min(pageSize, top) }, (_, at) => top - at);
  const blocks = useQueries({
    queries: heights.map((height) => ({
      queryKey: ['block', height],
      staleTime: Number.POSITIVE_INFINITY,
      queryFn: async () =>
        toBody<BlockBody>(await askGateway({ target: `${path?.replace('{height}', `${height}`)}`, headers: {} })),
    })),
  });
  if (!path || !latestPath) return <p className="empty">{t('explorer.noRouteFor', { what: t('explorer.blocks') })}</p>;
  return (
    <Panel title={t('explorer.blocks')}>
      {error && <Fault error={error} />}
      <Table
        label={t('explorer.blocks')}
        heads={[t('explorer.block'), t('explorer.time'), [t('explorer.transactions')]]}
      >
        {heights.map((height, at) => (
          <tr key={height}>
            <td className="numbers">
              <Link href={`/explorer?page=block&id=${height}`}>{height}</Link>
            </td>
            <td className="numbers">{formatMoment(blocks[at]?.data?.block?.header?.time)}</td>
            <td className="number">{formatNumber(blocks[at]?.data?.block?.data?.txs?.length ?? 0)}</td>
          </tr>
        ))}
      </Table>
      <Pager
        label={t('explorer.blocks')}
        onPrevious={top < latest ? () => setChosen(Math.min(top + pageSize, latest)) : undefined}
        onNext={top > pageSize ? () => setChosen(top - pageSize) : undefined}
      />
    </Panel>
  );
}
