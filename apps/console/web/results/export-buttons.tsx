import { useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { download, downloadBytes } from '../ui/download.ts';
import { Icon } from '../ui/icon.tsx';
import { type ExportedResult, type Filter, resultsApi, type SetRef } from './results-api.ts';

const formats = { csv: 'CSV', xlsx: 'XLSX', json: 'JSON' } as const;
type Format = keyof typeof formats;

/** What the filters leave, as a file. */
export function ExportButtons({ set, filter, mayExport }: { set: SetRef; filter: Filter; mayExport: boolean }) {
  const [fault, setFault] = useState('');
  async function save(format: Format): Promise<void> {
    setFault('');
    const name = `${set.program}-${set.name.replace(/[^\w-]/g, '_')}.${format}`;
    try {
      const reply = await resultsApi.export(set, filter, format === 'csv' ? 'csv' : 'json');
      if (format === 'xlsx') {
        const { toRows, toXlsx } = await import('./to-xlsx.ts');
        const rows = toRows((await reply.json()) as ExportedResult[]);
        downloadBytes(name, toXlsx(rows), 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet');
      } else download(name, await reply.text(), format === 'csv' ? 'text/csv' : 'application/json');
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
