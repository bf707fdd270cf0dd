import { ScrollRegion } from '../ui/scroll-region.tsx';
import { toQuantile } from './load.ts';
import { toMs } from './load-charts.tsx';
import type { Load } from './use-load.ts';
import { watched } from './watched.ts';

const shown = 12;

/** The routes asked most since each service started. */
export function BusyRoutes({ loads }: { loads: (Load | undefined)[] }) {
  const rows = loads
    .flatMap((load, index) =>
      [...(load?.history.at(-1)?.routes.values() ?? [])].map((route) => ({
        ...route,
        title: watched[index]?.title ?? '',
      })),
    )
    .filter(({ title }) => title !== 'Console')
    .sort((a, b) => b.count - a.count)
    .slice(0, shown);
  return (
    <section className="panel" aria-labelledby="busy-routes">
      <div className="panel-head">
        <h2 id="busy-routes">Busiest routes</h2>
        <span className="quiet small">since each service started</span>
      </div>
      {rows.length === 0 ? (
        <p className="empty">Nothing has been asked yet.</p>
      ) : (
        <ScrollRegion label="Busiest routes">
          <table>
            <thead>
              <tr>
                <th scope="col">Service</th>
                <th scope="col">Route</th>
                <th scope="col" className="number">
                  Requests
                </th>
                <th scope="col" className="number">
                  Faults
                </th>
                <th scope="col" className="number">
                  Median
                </th>
                <th scope="col" className="number">
                  95 %
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ title, method, route, count, faults, buckets }) => (
                <tr key={`${title}${method}${route}`}>
                  <td>{title}</td>
                  <td>
                    <code>
                      {method} {route}
                    </code>
                  </td>
                  <td className="number">{count.toLocaleString('en')}</td>
                  <td className="number">{faults.toLocaleString('en')}</td>
                  <td className="number">{toFigure(toQuantile(buckets, 0.5))}</td>
                  <td className="number">{toFigure(toQuantile(buckets, 0.95))}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
    </section>
  );
}

function toFigure(seconds: number | undefined): string {
  return seconds === undefined ? '–' : toMs(seconds);
}
