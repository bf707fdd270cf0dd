import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useOperatorToken } from '../api/operator-token.ts';
import { Link } from '../ui/link.tsx';
import { ScrollRegion } from '../ui/scroll-region.tsx';
import { type Filter, type ListedResult, resultsApi, type SetRef, type Status } from './results-api.ts';
import { words } from './words.ts';

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
      setNotice(words.retried(await resultsApi.retry(set, id)));
      await queries.invalidateQueries({ queryKey: ['results'] });
      await queries.invalidateQueries({ queryKey: ['result-sets'] });
    } catch (error) {
      setNotice(error instanceof Error ? error.message : String(error));
    }
  }
  if (query.error) return <p className="notice notice-danger">{query.error.message}</p>;
  if (!query.data) return <p className="quiet">{words.loading}</p>;
  const { results, total, isPartial } = query.data;
  const columns = [...new Set(results.flatMap(({ values }) => Object.keys(values)))];
  const isDelivered = set.source !== 'records';
  return (
    <div className="results">
      <p role="status" className={notice ? 'notice' : 'visually-hidden'}>
        {notice}
      </p>
      {isPartial && <p className="notice notice-warn">{words.partial}</p>}
      {isDelivered && mayRetry && failed > 1 && (
        <div className="actions">
          <button type="button" className="button" onClick={() => void retry()}>
            {words.retryAll(failed)}
          </button>
        </div>
      )}
      {results.length === 0 ? (
        <p className="empty">{words.noMatch}</p>
      ) : (
        <ScrollRegion label={words.table}>
          <table className="results-table">
            <thead>
              <tr>
                <th scope="col">{words.time}</th>
                <th scope="col">{words.caller}</th>
                {isDelivered && <th scope="col">{words.delivery}</th>}
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
                  <td className="numbers">{result.createdAt.slice(0, 16).replace('T', ' ')}</td>
                  <td className="numbers">
                    {mayOpenCallers ? (
                      <Link
                        href={`/programs?callers=one&caller=${encodeURIComponent(result.caller)}`}
                        aria-label={words.openCaller(result.maskedNumber)}
                      >
                        {result.maskedNumber}
                      </Link>
                    ) : (
                      result.maskedNumber
                    )}
                  </td>
                  {isDelivered && (
                    <td>
                      <Delivery result={result} onRetry={mayRetry ? () => void retry(result.id) : undefined} />
                    </td>
                  )}
                  {columns.map((column) => (
                    <td key={column}>{result.values[column]}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
      {total > 0 && (
        <nav className="pager" aria-label={words.table}>
          <button
            type="button"
            className="button"
            disabled={offset === 0}
            onClick={() => setOffset(Math.max(0, offset - pageSize))}
          >
            {words.previous}
          </button>
          <span className="numbers">{words.page(offset + 1, Math.min(offset + pageSize, total), total)}</span>
          <button
            type="button"
            className="button"
            disabled={offset + pageSize >= total}
            onClick={() => setOffset(offset + pageSize)}
          >
            {words.next}
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
      <span className={badges[status]}>{words.statuses[status]}</span>
      {attempts > 0 && status !== 'sent' && <span className="small quiet">{words.attempts(attempts)}</span>}
      {fault && status !== 'sent' && <span className="small break">{fault}</span>}
      {status === 'failed' && onRetry && (
        <button type="button" className="button button-small" onClick={onRetry}>
          {words.retry}
        </button>
      )}
    </div>
  );
}
