import { useState } from 'react';
import { useOperatorQuery } from '../api/operator-token.ts';
import { formatNumber } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { programApi } from '../programs/program-api.ts';
import type { ProgramModel } from '../programs/read-program.ts';
import { Button } from '../ui/button.tsx';
import { CheckField, InputField, SelectField } from '../ui/fields.tsx';
import { Icon } from '../ui/icon.tsx';
import { ChoiceTabs } from '../ui/tabs.tsx';
import { ExportButtons } from './export-buttons.tsx';
import { choiceLabel, labelsOf, noLabels, questionLabel } from './labels.ts';
import { ResultCharts } from './result-charts.tsx';
import { ResultTable } from './result-table.tsx';
import { type Filter, type ListedSet, noFilter, resultsApi, type Status } from './results-api.ts';
import '../styles/results.css';
import { Waiting } from '../ui/fault.tsx';

const toKey = ({ source, name }: Pick<ListedSet, 'source' | 'name'>) => `${source}/${name}`;

/** What a program has collected and sent: records, submissions of forms, messages. */
export function ResultsView({ program, model }: { program: string; model: ProgramModel }) {
  const query = useOperatorQuery({
    queryKey: ['result-sets', program],
    queryFn: () => resultsApi.sets(program),
    refetchInterval: 60_000,
  });
  const role = useOperatorQuery({ queryKey: ['programs'], queryFn: programApi.list }).data?.role ?? 'viewer';
  const [chosen, setChosen] = useState('');
  const [filter, setFilter] = useState(noFilter);
  const [isChart, setChart] = useState(false);
  const [isCoded, setCoded] = useState(false);
  if (!query.data) return <Waiting error={query.error} />;
  const { sets } = query.data;
  const listed = sets.find((set) => toKey(set) === chosen) ?? sets[0];
  if (!listed) return <p className="empty">{t('results.nothing')}</p>;
  const set = { program, source: listed.source, name: listed.name };
  const labels = isCoded ? noLabels : labelsOf(model, set);
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
          <ChoiceTabs
            label={t('results.as')}
            chosen={isChart ? 'charts' : 'table'}
            choices={(['table', 'charts'] as const).map((name) => [name, t(`results.${name}`)])}
            onChoose={(name) => setChart(name === 'charts')}
          />
        )}
        {!isSms && <CheckField label={t('results.codes')} checked={isCoded} onChange={setCoded} />}
        <ExportButtons key={key} set={set} filter={filter} labels={labels} mayExport={role !== 'viewer'} />
      </div>
      {filter.column !== '' && (
        <p className="badges">
          <Button
            small
            aria-label={t('results.removeFilter', { column: questionLabel(labels, filter.column) })}
            onClick={() => setFilter({ ...filter, column: '', value: '' })}
          >
            <bdi>{`${questionLabel(labels, filter.column)}: ${choiceLabel(labels, filter.column, filter.value)}`}</bdi>
            <Icon name="close" size={14} />
          </Button>
        </p>
      )}
      {isChart && !isSms ? (
        <ResultCharts
          set={set}
          labels={labels}
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
          labels={labels}
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
    <SelectField label={t('results.set')} value={toKey(set)} onChange={(event) => onSet(event.target.value)}>
      {sets.map((each) => (
        <option key={toKey(each)} value={toKey(each)}>
          {t('results.setOf', {
            source: t(`results.${each.source}`),
            name: each.source === 'messages' ? 'SMS' : each.name,
            count: each.count,
          })}
        </option>
      ))}
    </SelectField>
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
      <InputField label={t('results.from')} type="date" value={filter.from} onChange={change('from')} />
      <InputField label={t('results.to')} type="date" value={filter.to} onChange={change('to')} />
      {set.source !== 'records' && (
        <SelectField label={t('results.delivery')} value={filter.status} onChange={change('status')}>
          <option value="">{t('results.anyStatus')}</option>
          {Object.entries(set.statuses).map(([status, count]) => (
            <option key={status} value={status}>
              {`${t(`results.status-${status as Status}`)} (${formatNumber(count)})`}
            </option>
          ))}
        </SelectField>
      )}
      {set.source !== 'messages' && (
        <InputField
          label={t('results.search')}
          type="search"
          maxLength={100}
          value={filter.search}
          onChange={change('search')}
        />
      )}
    </>
  );
}
