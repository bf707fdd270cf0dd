import type { UssdReportList } from '@palaver/contract/internal';
import { useQuery } from '@tanstack/react-query';
import { callAsOperator } from '../api/call-service.ts';
import { useOperatorToken } from '../api/operator-token.ts';
import { formatUtc } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { download } from '../ui/download.ts';
import { Fault } from '../ui/fault.tsx';
import { Icon } from '../ui/icon.tsx';
import { ScrollRegion } from '../ui/scroll-region.tsx';

const shown = 10;

/** The newest reports; the export has all of them. */
export function Reports() {
  const token = useOperatorToken();
  const query = useQuery({
    queryKey: ['ussd-reports', token],
    refetchInterval: 15_000,
    queryFn: async () =>
      (await callAsOperator('ussd-gateway', `/api/ussd/reports?limit=${shown}`)).json() as Promise<UssdReportList>,
  });
  async function save(): Promise<void> {
    const reply = await callAsOperator('ussd-gateway', '/api/ussd/reports?format=spreadsheet');
    download('reports.csv', await reply.text(), 'text/csv');
  }
  const { reports = [], total = 0 } = query.data ?? {};
  return (
    <section className="panel" aria-labelledby="reports">
      <div className="panel-head">
        <h2 id="reports">{t('operations.reports')}</h2>
        <button type="button" className="button button-small" disabled={total === 0} onClick={() => void save()}>
          <Icon name="save" size={16} />
          {t('operations.exportCsv')}
        </button>
      </div>
      {query.error ? (
        <Fault error={query.error} />
      ) : reports.length === 0 ? (
        <p className="empty">{t('operations.noReports')}</p>
      ) : (
        <ScrollRegion label={t('operations.reportTable')}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t('operations.reference')}</th>
                <th scope="col">{t('operations.activity')}</th>
                <th scope="col" className="number">
                  {t('operations.amount')}
                </th>
                <th scope="col">{t('operations.phone')}</th>
                <th scope="col">{t('operations.time')}</th>
              </tr>
            </thead>
            <tbody>
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
            </tbody>
          </table>
        </ScrollRegion>
      )}
      {total > reports.length && (
        <p className="quiet small">{t('operations.newest', { shown: reports.length, total })}</p>
      )}
    </section>
  );
}
