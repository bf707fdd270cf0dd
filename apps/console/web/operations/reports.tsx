import type { UssdReportList } from '@palaver/contract/internal';
import { useQuery } from '@tanstack/react-query';
import { callAsOperator } from '../api/call-service.ts';
import { useOperatorToken } from '../api/operator-token.ts';
import { download } from '../ui/download.ts';
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
        <h2 id="reports">Reported activities</h2>
        <button type="button" className="button button-small" disabled={total === 0} onClick={() => void save()}>
          <Icon name="save" size={16} />
          Export CSV
        </button>
      </div>
      {query.error ? (
        <p className="notice notice-danger">{query.error.message}</p>
      ) : reports.length === 0 ? (
        <p className="empty">No activity has been reported yet.</p>
      ) : (
        <ScrollRegion label="Reports">
          <table>
            <thead>
              <tr>
                <th scope="col">Reference</th>
                <th scope="col">Activity</th>
                <th scope="col" className="number">
                  Amount
                </th>
                <th scope="col">Phone</th>
                <th scope="col">Time</th>
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
                  <td className="numbers">{phoneNumber}</td>
                  <td>{new Date(createdAt).toLocaleString()}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
      {total > reports.length && (
        <p className="quiet small">
          The newest {reports.length} of {total}.
        </p>
      )}
    </section>
  );
}
