import { useQueries } from '@tanstack/react-query';
import { useState } from 'react';
import { formatMoment, formatNumber, type MessageKey, t } from '../i18n/text.ts';
import { navigate, useLocation } from '../location.ts';
import { Facts, Fault, Link, Pager, Panel, Table } from '../ui/content.tsx';
import { CopyButton } from '../ui/controls.tsx';
import { AnswerBar, WholeAnswer } from './answer-bar.tsx';
import { askGateway, encodePath, toBody, useAnswer, usePaths } from './gateway.ts';
import { findTarget, shorten } from './protocol.ts';

const pageSize = 10;

interface TxResponse {
  height: string;
  txhash: string;
  code?: number;
  raw_log?: string;
  timestamp?: string;
  tx?: { body?: { messages?: { '@type'?: string }[]; memo?: string } };
}

export function TransactionsPage() {
  return <Transactions title={t('explorer.transactions')} search="tx.height>=1" />;
}

function Transactions({ title, search }: { title: string; search: string }) {
  const [page, setPage] = useState(1);
  const [path] = usePaths('/tx/v1beta1/txs');
  const place = { page: `${page}`, limit: `${pageSize}` };
  const query = new URLSearchParams({ query: search, order_by: 'ORDER_BY_DESC', ...place });
  const { data, error } = useAnswer<{ tx_responses?: TxResponse[]; total?: string }>(path && `${path}?${query}`);
  if (!path) return <p className="empty">{t('explorer.noRouteFor', { what: title })}</p>;
  const found = data?.body.tx_responses ?? [];
  const total = Number(data?.body.total ?? 0);
  return (
    <Panel title={title} empty={data && found.length === 0 && t('explorer.noTransactions')}>
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
        place={t('app.page', {
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

export function BlocksPage() {
  const [latestPath, path] = usePaths('/blocks/latest', '/blocks/{height}');
  const { data, error } = useAnswer<BlockBody>(latestPath);
  const latest = Number(data?.body.block?.header?.height ?? 0);
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

const records = {
  claim: [
    { title: 'explorer.claim', path: '/claims/claim/{id}' },
    { title: 'explorer.disputes', path: '/claims/disputes-for-subject/{subjectId}' },
  ],
  dispute: [{ title: 'explorer.dispute', path: '/claims/dispute/{proof}' }],
  account: [
    { title: 'explorer.balances', path: '/bank/v1beta1/balances/{address}' },
    { title: 'explorer.account', path: '/auth/v1beta1/accounts/{address}' },
  ],
  tx: [{ title: 'explorer.tx', path: '/tx/v1beta1/txs/{hash}' }],
  block: [{ title: 'explorer.block', path: '/tendermint/v1beta1/blocks/{height}' }],
} as const;

type RecordName = keyof typeof records;

const activities: Partial<Record<RecordName, { title: MessageKey; search(id: string): string }[]>> = {
  account: [
    { title: 'explorer.sent', search: (id) => `message.sender='${id}'` },
    { title: 'explorer.received', search: (id) => `transfer.recipient='${id}'` },
  ],
  block: [{ title: 'explorer.transactions', search: (id) => `tx.height=${id}` }],
};

export const recordNames = Object.keys(records) as RecordName[];

const maxDepth = 4;
const maxFacts = 60;

export function RecordPage({ name }: { name: RecordName }) {
  const { searchParams } = useLocation();
  const id = searchParams.get('id') ?? '';
  const open = (height: number) => navigate(`/explorer?page=block&id=${height}`);
  return (
    <article className="panel reading">
      <header>
        <p className="quiet small">{t(`explorer.${name}`)}</p>
        <h2 className="reading-title">
          <code className="break">{id}</code>
        </h2>
        <CopyButton text={id} label={t('explorer.copyId')} />
      </header>
      {records[name].map(({ title, path }) => (
        <Part key={path} title={t(title)} path={path} id={id} />
      ))}
      {name === 'block' && (
        <Pager
          label={t('explorer.block')}
          onPrevious={Number(id) > 1 ? () => open(Number(id) - 1) : undefined}
          onNext={() => open(Number(id) + 1)}
        />
      )}
      {activities[name]?.map(({ title, search }) => (
        <Transactions key={title} title={t(title)} search={search(id)} />
      ))}
    </article>
  );
}

function Part({ title, path, id }: { title: string; path: string; id: string }) {
  const [known] = usePaths(path);
  const target = known?.replace(/\{[^}]*\}$/, () => encodePath(id));
  const answer = useAnswer(target);
  if (!target) return <p className="empty">{t('explorer.noRouteFor', { what: title })}</p>;
  if (answer.error) return <Fault error={answer.error} />;
  if (!answer.data) return <p className="quiet">{t('explorer.reading')}</p>;
  return (
    <section>
      <h3>{title}</h3>
      <Facts
        rows={listFacts(answer.data.body)
          .slice(0, maxFacts)
          .map(([path, value]) => [path, <Value key={path} path={path} text={value} />])}
      />
      <WholeAnswer answer={answer.data} />
    </section>
  );
}

/** Identifiers lead to their pages; plain numbers are mostly amounts, and proofs of evaluations are kept elsewhere. */
function Value({ path, text }: { path: string; text: string }) {
  const isPlain = /^\d+$/.test(text) || path.endsWith('verification_proof');
  const target = path.endsWith('data.proof')
    ? `/explorer?page=dispute&id=${encodeURIComponent(text)}`
    : isPlain
      ? undefined
      : findTarget(text);
  return target ? <Link href={target}>{text}</Link> : <bdi className="break">{text}</bdi>;
}

function listFacts(value: unknown, path: string[] = []): [string, string][] {
  if (value === null || value === '' || value === undefined) return [];
  if (typeof value !== 'object') return [[path.join('.'), String(value)]];
  if (path.length > maxDepth) return [];
  const entries = Object.entries(value);
  const isWrapped = path.length === 0 && entries.length === 1;
  return entries.flatMap(([key, inner]) => listFacts(inner, isWrapped ? [] : [...path, key]));
}
