import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useOperatorQuery } from '../api/call-service.ts';
import { formatUtc, t } from '../i18n/text.ts';
import { Link, Notice, Pager, Table, Waiting } from '../ui/content.tsx';
import { Button } from '../ui/controls.tsx';
import { choiceLabel, type Labels, questionLabel } from './labels.ts';
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
  labels: Labels;
  failed: number;
  mayRetry: boolean;
  mayOpenCallers: boolean;
}

export function ResultTable({ set, filter, labels, failed, mayRetry, mayOpenCallers }: ResultTableProps) {
  const queries = useQueryClient();
  const [offset, setOffset] = useState(0);
  const [notice, setNotice] = useState('');
  const query = useOperatorQuery({
    queryKey: ['results', set, filter, offset],
    placeholderData: (before) => before,
    refetchInterval: 60_000,
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
  if (!query.data) return <Waiting error={query.error} />;
  const { results, total, isPartial } = query.data;
  const columns = [...new Set(results.flatMap(({ values }) => Object.keys(values)))];
  const isDelivered = set.source !== 'records';
  return (
    <div className="results">
      <Notice text={notice} />
      {isPartial && <p className="notice notice-warn">{t('results.partial')}</p>}
      {isDelivered && mayRetry && failed > 1 && (
        <div className="actions">
          <Button onClick={() => void retry()}>{t('results.retryAll', { count: failed })}</Button>
        </div>
      )}
      {results.length === 0 ? (
        <p className="empty">{t('results.noMatch')}</p>
      ) : (
        <Table
          className="results-table"
          label={t('results.table')}
          heads={[
            t('results.time'),
            t('results.caller'),
            ...(isDelivered ? [t('results.delivery')] : []),
            ...columns.map((column) => questionLabel(labels, column)),
          ]}
        >
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
                  <Answer text={choiceLabel(labels, column, result.values[column] ?? '')} />
                </td>
              ))}
            </tr>
          ))}
        </Table>
      )}
      {total > 0 && (
        <Pager
          label={t('results.table')}
          place={t('app.page', { first: offset + 1, last: Math.min(offset + pageSize, total), total })}
          onPrevious={offset > 0 ? () => setOffset(Math.max(0, offset - pageSize)) : undefined}
          onNext={offset + pageSize < total ? () => setOffset(offset + pageSize) : undefined}
        />
      )}
    </div>
  );
}

const longText = 120;

function Answer({ text }: { text: string }) {
  if (text.length <= longText) return <bdi>{text}</bdi>;
  return (
    <details className="long-value">
      <summary>
        <bdi>{text}</bdi>
      </summary>
    </details>
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
      {status === 'failed' && onRetry && <Button text={t('results.retry')} small onClick={onRetry} />}
    </div>
  );
}
