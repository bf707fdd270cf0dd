import '../styles/results.css';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useOperatorQuery } from '../api/call-service.ts';
import { formatNumber, t } from '../i18n/text.ts';
import { type ProgramFiles, programApi } from '../programs/program-api.ts';
import { type ProgramModel, readProgram } from '../programs/read-program.ts';
import { ChoiceTabs, Refusal, Waiting } from '../ui/content.tsx';
import { Button, CheckField, download, Icon, InputField, SelectField } from '../ui/controls.tsx';
import { choiceLabel, type Labels, labelsOf, noLabels, questionLabel } from './labels.ts';
import { ResultCharts } from './result-charts.tsx';
import { ResultTable } from './result-table.tsx';
import { type Filter, type ListedSet, noFilter, resultsApi, type SetRef, type Status } from './results-api.ts';

const toKey = ({ source, name }: Pick<ListedSet, 'source' | 'name'>) => `${source}/${name}`;

export function ResultsView({ program, model }: { program: string; model: ProgramModel }) {
  const query = useOperatorQuery({
    queryKey: ['result-sets', program],
    queryFn: () => resultsApi.sets(program),
    refetchInterval: 60_000,
  });
  const { data: others } = useOperatorQuery({
    queryKey: ['other-versions', program],
    queryFn: () => loadOthers(program),
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
  const labels = isCoded ? noLabels : labelsOf(model, (others ?? []).map(readProgram), set);
  const isSms = listed.source === 'messages';
  const key = JSON.stringify([set, filter]);
  return (
    <div className="results">
      <div className="results-bar">
        <SelectField
          label={t('results.set')}
          value={toKey(listed)}
          onChange={(next) => {
            setChosen(next);
            setFilter(noFilter);
          }}
          options={sets.map((each) => [toKey(each), toTitle(each)])}
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

const readVersions = 10;

async function loadOthers(program: string): Promise<ProgramFiles[]> {
  const { versions } = await programApi.versions(program);
  const others = versions.filter(({ isCurrent }) => !isCurrent).slice(0, readVersions);
  return Promise.all(others.map(async ({ version }) => (await programApi.files(program, version)).files));
}

function toTitle({ source, name, count }: ListedSet): string {
  const title = source === 'messages' ? 'SMS' : name;
  return t('results.setOf', { source: t(`results.${source}`), name: title, count });
}

function Filters({ set, filter, onFilter }: { set: ListedSet; filter: Filter; onFilter(filter: Filter): void }) {
  const change = (field: keyof Filter) => (value: string) => onFilter({ ...filter, [field]: value });
  return (
    <>
      <InputField label={t('results.from')} type="date" value={filter.from} onChange={change('from')} />
      <InputField label={t('results.to')} type="date" value={filter.to} onChange={change('to')} />
      {set.source !== 'records' && (
        <SelectField
          label={t('results.delivery')}
          value={filter.status}
          onChange={change('status')}
          options={Object.entries(set.statuses).map(([status, count]) => [
            status,
            `${t(`results.status-${status as Status}`)} (${formatNumber(count)})`,
          ])}
        >
          <option value="">{t('results.anyStatus')}</option>
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

const formats = { csv: 'CSV', xlsx: 'XLSX', json: 'JSON' } as const;
type Format = keyof typeof formats;

interface ExportProps {
  set: SetRef;
  filter: Filter;
  labels: Labels;
  mayExport: boolean;
}

export function ExportButtons({ set, filter, labels, mayExport }: ExportProps) {
  const save = useMutation({
    mutationFn: async (format: Format) => {
      const name = `${set.program}-${set.name.replace(/[^\w-]/g, '_')}.${format}`;
      const [results, { toCsv, toJson, toRows, toXlsx, xlsxType }] = await Promise.all([
        resultsApi.export(set, filter),
        import('./to-files.ts'),
      ]);
      const rows = toRows(results, labels);
      if (format === 'xlsx') download(name, await toXlsx(rows), xlsxType);
      else if (format === 'csv') download(name, toCsv(rows), 'text/csv');
      else download(name, toJson(results, labels), 'application/json');
    },
  });
  return (
    <fieldset className="exports">
      <legend className="small quiet">{t('results.export')}</legend>
      <div className="actions" title={t(mayExport ? 'results.exportNote' : 'results.mayNotExport')}>
        {(Object.keys(formats) as Format[]).map((format) => (
          <Button key={format} disabled={!mayExport} onClick={() => save.mutate(format)}>
            <Icon name="save" size={16} />
            {formats[format]}
          </Button>
        ))}
      </div>
      <Refusal small text={save.error?.message ?? ''} />
    </fieldset>
  );
}
