import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useOperatorToken } from '../api/operator-token.ts';
import { formatNumber } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { programApi } from '../programs/program-api.ts';
import { Icon } from '../ui/icon.tsx';
import { ExportButtons } from './export-buttons.tsx';
import { ResultCharts } from './result-charts.tsx';
import { ResultTable } from './result-table.tsx';
import { type Filter, type ListedSet, noFilter, resultsApi, type Status } from './results-api.ts';
import '../styles/results.css';

const toKey = ({ source, name }: Pick<ListedSet, 'source' | 'name'>) => `${source}/${name}`;

/** What a program has collected and sent: records, submissions of forms, messages. */
export function ResultsView({ program }: { program: string }) {
  const token = useOperatorToken();
  const query = useQuery({
    queryKey: ['result-sets', program, token],
    queryFn: () => resultsApi.sets(program),
    refetchInterval: 15_000,
  });
  const role = useQuery({ queryKey: ['programs', token], queryFn: programApi.list }).data?.role ?? 'viewer';
  const [chosen, setChosen] = useState('');
  const [filter, setFilter] = useState(noFilter);
  const [isChart, setChart] = useState(false);
  if (query.error) return <p className="notice notice-danger">{query.error.message}</p>;
  if (!query.data) return <p className="quiet">{t('app.loading')}</p>;
  const { sets } = query.data;
  const listed = sets.find((set) => toKey(set) === chosen) ?? sets[0];
  if (!listed) return <p className="empty">{t('results.nothing')}</p>;
  const set = { program, source: listed.source, name: listed.name };
  const isSms = listed.source === 'messages';
  // Another set or filter begins at its first page.
  const key = JSON.stringify([set, filter]);
  return (
    <div className="results">
      <div className="results-bar">
        <SetField
          sets={sets}
          set={listed}
          onSet={(next) => {
            setChosen(next);
            setFilter(noFilter);
          }}
        />
        <Filters set={listed} filter={filter} onFilter={setFilter} />
        {!isSms && (
          <nav className="tabs" aria-label={t('results.as')}>
            <button type="button" aria-pressed={!isChart} onClick={() => setChart(false)}>
              {t('results.table')}
            </button>
            <button type="button" aria-pressed={isChart} onClick={() => setChart(true)}>
              {t('results.charts')}
            </button>
          </nav>
        )}
        <ExportButtons key={key} set={set} filter={filter} mayExport={role !== 'viewer'} />
      </div>
      {filter.column !== '' && (
        <p className="badges">
          <button
            type="button"
            className="button button-small"
            aria-label={t('results.removeFilter', { column: filter.column })}
            onClick={() => setFilter({ ...filter, column: '', value: '' })}
          >
            <bdi>{`${filter.column}: ${filter.value}`}</bdi>
            <Icon name="close" size={14} />
          </button>
        </p>
      )}
      {isChart && !isSms ? (
        <ResultCharts
          set={set}
          filter={filter}
          onChoose={(column, value) => {
            setFilter({ ...filter, column, value });
            setChart(false);
          }}
        />
      ) : (
        <ResultTable
          key={key}
          set={set}
          filter={filter}
          failed={listed.statuses.failed ?? 0}
          mayRetry={role === 'admin'}
          mayOpenCallers={role !== 'viewer'}
        />
      )}
    </div>
  );
}

function SetField({ sets, set, onSet }: { sets: ListedSet[]; set: ListedSet; onSet(key: string): void }) {
  return (
    <label className="field">
      <span>{t('results.set')}</span>
      <select value={toKey(set)} onChange={(event) => onSet(event.target.value)}>
        {sets.map((each) => (
          <option key={toKey(each)} value={toKey(each)}>
            {t('results.setOf', {
              source: t(`results.${each.source}`),
              name: each.source === 'messages' ? 'SMS' : each.name,
              count: each.count,
            })}
          </option>
        ))}
      </select>
    </label>
  );
}

interface FiltersProps {
  set: ListedSet;
  filter: Filter;
  onFilter(filter: Filter): void;
}

function Filters({ set, filter, onFilter }: FiltersProps) {
  const change = (field: keyof Filter) => (event: { target: { value: string } }) =>
    onFilter({ ...filter, [field]: event.target.value });
  return (
    <>
      <label className="field">
        <span>{t('results.from')}</span>
        <input type="date" value={filter.from} onChange={change('from')} />
      </label>
      <label className="field">
        <span>{t('results.to')}</span>
        <input type="date" value={filter.to} onChange={change('to')} />
      </label>
      {set.source !== 'records' && (
        <label className="field">
          <span>{t('results.delivery')}</span>
          <select value={filter.status} onChange={change('status')}>
            <option value="">{t('results.anyStatus')}</option>
            {Object.entries(set.statuses).map(([status, count]) => (
              <option key={status} value={status}>
                {`${t(`results.status-${status as Status}`)} (${formatNumber(count)})`}
              </option>
            ))}
          </select>
        </label>
      )}
      {set.source !== 'messages' && (
        <label className="field">
          <span>{t('results.search')}</span>
          <input type="search" maxLength={100} value={filter.search} onChange={change('search')} />
        </label>
      )}
    </>
  );
}
