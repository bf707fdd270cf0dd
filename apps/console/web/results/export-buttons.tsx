import { useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { download, downloadBytes } from '../ui/download.ts';
import { Icon } from '../ui/icon.tsx';
import type { Labels } from './labels.ts';
import { type Filter, resultsApi, type SetRef } from './results-api.ts';

const formats = { csv: 'CSV', xlsx: 'XLSX', json: 'JSON' } as const;
type Format = keyof typeof formats;

interface ExportProps {
  set: SetRef;
  filter: Filter;
  labels: Labels;
  mayExport: boolean;
}

/** What the filters leave, as a file, with the labels that the table has. */
export function ExportButtons({ set, filter, labels, mayExport }: ExportProps) {
  const [fault, setFault] = useState('');
  async function save(format: Format): Promise<void> {
    setFault('');
    const name = `${set.program}-${set.name.replace(/[^\w-]/g, '_')}.${format}`;
    try {
      const [results, { toCsv, toJson, toRows, toXlsx, xlsxType }] = await Promise.all([
        resultsApi.export(set, filter),
        import('./to-files.ts'),
      ]);
      const rows = toRows(results, labels);
      if (format === 'xlsx') downloadBytes(name, toXlsx(rows), xlsxType);
      else if (format === 'csv') download(name, toCsv(rows), 'text/csv');
      else download(name, toJson(results, labels), 'application/json');
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  }
  return (
    <fieldset className="exports">
      <legend className="small quiet">{t('results.export')}</legend>
      <div className="actions" title={t(mayExport ? 'results.exportNote' : 'results.mayNotExport')}>
        {(Object.keys(formats) as Format[]).map((format) => (
          <Button key={format} disabled={!mayExport} onClick={() => void save(format)}>
            <Icon name="save" size={16} />
            {formats[format]}
          </Button>
        ))}
      </div>
      {fault && (
        <p className="small over" role="alert">
          {fault}
        </p>
      )}
    </fieldset>
  );
}
