import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useOperatorToken } from '../api/operator-token.ts';
import { formatUtc } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { Link } from '../ui/link.tsx';
import { ScrollRegion } from '../ui/scroll-region.tsx';
import { type Filter, type ListedResult, resultsApi, type SetRef, type Status } from './results-api.ts';

const pageSize = 25;
const badges: Record<Status, string> = {
  stored: 'badge',
  queued: 'badge badge-warn',
  sending: 'badge badge-warn',
  sent: 'badge badge-ok',
  failed: 'badge badge-danger',
};

interface ResultTableProps {
  set: SetRef;
  filter: Filter;
  /** How many could not be delivered. */
  failed: number;
  mayRetry: boolean;
  mayOpenCallers: boolean;
}

/** The newest results first, a page at a time. */
export function ResultTable({ set, filter, failed, mayRetry, mayOpenCallers }: ResultTableProps) {
  const token = useOperatorToken();
  const queries = useQueryClient();
  const [offset, setOffset] = useState(0);
  const [notice, setNotice] = useState('');
  const query = useQuery({
    queryKey: ['results', set, filter, offset, token],
    placeholderData: (before) => before,
    refetchInterval: 15_000,
    queryFn: () => resultsApi.page(set, filter, { limit: pageSize, offset }),
  });
  async function retry(id?: string): Promise<void> {
    try {
      setNotice(t('results.retried', { count: await resultsApi.retry(set, id) }));
      await queries.invalidateQueries({ queryKey: ['results'] });
      await queries.invalidateQueries({ queryKey: ['result-sets'] });
    } catch (error) {
      setNotice(error instanceof Error ? error.message : String(error));
    }
  }
  if (query.error) return <p className="notice notice-danger">{query.error.message}</p>;
  if (!query.data) return <p className="quiet">{t('app.loading')}</p>;
  const { results, total, isPartial } = query.data;
  const columns = [...new Set(results.flatMap(({ values }) => Object.keys(values)))];
  const isDelivered = set.source !== 'records';
  return (
    <div className="results">
      <p role="status" className={notice ? 'notice' : 'visually-hidden'}>
        {notice}
      </p>
      {isPartial && <p className="notice notice-warn">{t('results.partial')}</p>}
      {isDelivered && mayRetry && failed > 1 && (
        <div className="actions">
          <button type="button" className="button" onClick={() => void retry()}>
            {t('results.retryAll', { count: failed })}
          </button>
        </div>
      )}
      {results.length === 0 ? (
        <p className="empty">{t('results.noMatch')}</p>
      ) : (
        <ScrollRegion label={t('results.table')}>
          <table className="results-table">
            <thead>
              <tr>
                <th scope="col">{t('results.time')}</th>
                <th scope="col">{t('results.caller')}</th>
                {isDelivered && <th scope="col">{t('results.delivery')}</th>}
                {columns.map((column) => (
                  <th key={column} scope="col">
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {results.map((result) => (
                <tr key={result.id}>
                  <td className="numbers">{formatUtc(result.createdAt)}</td>
                  <td className="numbers">
                    {mayOpenCallers ? (
                      <Link
                        href={`/programs?callers=one&caller=${encodeURIComponent(result.caller)}`}
                        aria-label={t('results.openCaller', { number: result.maskedNumber })}
                      >
                        <bdi>{result.maskedNumber}</bdi>
                      </Link>
                    ) : (
                      <bdi>{result.maskedNumber}</bdi>
                    )}
                  </td>
                  {isDelivered && (
                    <td>
                      <Delivery result={result} onRetry={mayRetry ? () => void retry(result.id) : undefined} />
                    </td>
                  )}
                  {columns.map((column) => (
                    <td key={column}>
                      <bdi>{result.values[column]}</bdi>
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
      {total > 0 && (
        <nav className="pager" aria-label={t('results.table')}>
          <button
            type="button"
            className="button"
            disabled={offset === 0}
            onClick={() => setOffset(Math.max(0, offset - pageSize))}
          >
            {t('results.previous')}
          </button>
          <span className="numbers">
            {t('results.page', { first: offset + 1, last: Math.min(offset + pageSize, total), total })}
          </span>
          <button
            type="button"
            className="button"
            disabled={offset + pageSize >= total}
            onClick={() => setOffset(offset + pageSize)}
          >
            {t('results.next')}
          </button>
        </nav>
      )}
    </div>
  );
}

function Delivery({ result: { delivery }, onRetry }: { result: ListedResult; onRetry: (() => void) | undefined }) {
  if (!delivery) return null;
  const { status, attempts, fault } = delivery;
  return (
    <div className="delivery">
      <span className={badges[status]}>{t(`results.status-${status}`)}</span>
      {attempts > 0 && status !== 'sent' && (
        <span className="small quiet">{t('results.attempts', { count: attempts })}</span>
      )}
      {fault && status !== 'sent' && (
        <span className="small break" lang="en" dir="auto">
          {fault}
        </span>
      )}
      {status === 'failed' && onRetry && (
        <button type="button" className="button button-small" onClick={onRetry}>
          {t('results.retry')}
        </button>
      )}
    </div>
  );
}
