import type { UssdReportList } from '@palaver/contract/internal';
import { callAsOperator } from '../api/call-service.ts';
import { formatUtc } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { download } from '../ui/download.ts';
import { Panel } from '../ui/panel.tsx';
import { Table } from '../ui/table.tsx';
import type { Shown } from './figures.ts';

/** The newest reports; the export has all of them. */
export function Reports({ list }: { list: Shown<UssdReportList> }) {
  async function save(): Promise<void> {
    const reply = await callAsOperator('ussd-gateway', '/api/ussd/reports?format=spreadsheet');
    download('reports.csv', await reply.text(), 'text/csv');
  }
  const { reports = [], total = 0 } = list?.refused === undefined ? (list ?? {}) : {};
  return (
    <Panel
      title={t('operations.reports')}
      empty={list?.refused ?? (reports.length === 0 && t('operations.noReports'))}
      beside={
        <Button small icon="save" disabled={total === 0} onClick={() => void save()}>
          {t('operations.exportCsv')}
        </Button>
      }
    >
      <Table
        label={t('operations.reportTable')}
        heads={[
          t('operations.reference'),
          t('operations.activity'),
          [t('operations.amount')],
          t('operations.phone'),
          t('operations.time'),
        ]}
      >
        {reports.map(({ reference, type, amount, unit, phoneNumber, createdAt }) => (
          <tr key={reference}>
            <td>
              <code>{reference}</code>
            </td>
            <td>{type}</td>
            <td className="number">
              {amount} {unit}
            </td>
            <td className="numbers">
              <bdi>{phoneNumber}</bdi>
            </td>
            <td>{formatUtc(createdAt)}</td>
          </tr>
        ))}
      </Table>
      {total > reports.length && (
        <p className="quiet small">{t('operations.newest', { shown: reports.length, total })}</p>
      )}
    </Panel>
  );
}
