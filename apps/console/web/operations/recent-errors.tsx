import { useQueries } from '@tanstack/react-query';
import { callAsOperator } from '../api/call-service.ts';
import { useOperatorToken } from '../api/operator-token.ts';
import { ScrollRegion } from '../ui/scroll-region.tsx';
import { watched } from './watched.ts';

interface RecentError {
  time: string;
  requestId: string;
  method: string;
  path: string;
  status: number;
  code?: string;
}

const shown = 20;

/** The last refused and failed requests of every service; the request id finds the rest in the log. */
export function RecentErrors() {
  const token = useOperatorToken();
  const answers = useQueries({
    queries: watched.map(({ service }) => ({
      queryKey: ['recent-errors', service, token],
      refetchInterval: 5_000,
      queryFn: async () => {
        const { errors } = (await (await callAsOperator(service, '/metrics/errors')).json()) as {
          errors: RecentError[];
        };
        return errors;
      },
    })),
  });
  const rows = watched
    .flatMap(({ title }, index) => (answers[index]?.data ?? []).map((error) => ({ ...error, title })))
    .filter(({ title, path }) => title !== 'Console' || !path.startsWith('/api/')) // the service behind it has its own line
    .sort((a, b) => b.time.localeCompare(a.time))
    .slice(0, shown);
  return (
    <section className="panel" aria-labelledby="recent-errors">
      <div className="panel-head">
        <h2 id="recent-errors">Recent errors</h2>
      </div>
      {rows.length === 0 ? (
        <p className="empty">No request was refused or failed lately.</p>
      ) : (
        <ScrollRegion label="Recent errors">
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Service</th>
                <th scope="col">Status</th>
                <th scope="col">Request</th>
                <th scope="col">Request id</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ time, title, status, code, method, path, requestId }) => (
                <tr key={`${title}${time}${requestId}`}>
                  <td>{new Date(time).toLocaleTimeString()}</td>
                  <td>{title}</td>
                  <td>
                    <span className={status >= 500 ? 'badge badge-danger' : 'badge badge-warn'}>{status}</span>{' '}
                    <span className="quiet">{code}</span>
                  </td>
                  <td>
                    <code className="break">
                      {method} {path}
                    </code>
                  </td>
                  <td>
                    <code>{requestId}</code>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
    </section>
  );
}
