import type { UssdReportList } from '@palaver/contract/internal';
import { callAsOperator, loadAsOperator } from '../api/call-service.ts';
import { useOperatorQuery } from '../api/operator-token.ts';
import { formatUtc } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';
import { download } from '../ui/download.ts';
import { Fault } from '../ui/fault.tsx';
import { Panel } from '../ui/panel.tsx';
import { Table } from '../ui/table.tsx';

const shown = 10;

/** The newest reports; the export has all of them. */
export function Reports() {
  const query = useOperatorQuery({
    queryKey: ['ussd-reports'],
    refetchInterval: 15_000,
    queryFn: () => loadAsOperator<UssdReportList>('ussd-gateway', `/api/ussd/reports?limit=${shown}`),
  });
  async function save(): Promise<void> {
    const reply = await callAsOperator('ussd-gateway', '/api/ussd/reports?format=spreadsheet');
    download('reports.csv', await reply.text(), 'text/csv');
  }
  const { reports = [], total = 0 } = query.data ?? {};
  return (
    <Panel
      title={t('operations.reports')}
      empty={!query.error && reports.length === 0 && t('operations.noReports')}
      beside={
        <Button small icon="save" disabled={total === 0} onClick={() => void save()}>
          {t('operations.exportCsv')}
        </Button>
      }
    >
      {query.error ? (
        <Fault error={query.error} />
      ) : (
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
      )}
      {total > reports.length && (
        <p className="quiet small">{t('operations.newest', { shown: reports.length, total })}</p>
      )}
    </Panel>
  );
}
