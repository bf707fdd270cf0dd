import { formatMs, formatNumber } from '../i18n/format.ts';
import { type PlainKey, t } from '../i18n/text.ts';
import { ScrollRegion } from '../ui/scroll-region.tsx';

export interface RouteRow {
  title: PlainKey;
  route: string;
  count: number;
  faults: number;
  /** Seconds. */
  p50: number | undefined;
  p95: number | undefined;
}

const columns = ['operations.count', 'operations.faults', 'operations.median', 'operations.percentile'] as const;

/** Routes with how often they were asked, how often they failed and how long they took. */
export function RouteTable({ label, rows }: { label: string; rows: RouteRow[] }) {
  return (
    <ScrollRegion label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t('operations.service')}</th>
            <th scope="col">{t('operations.route')}</th>
            {columns.map((column) => (
              <th key={column} scope="col" className="number">
                {t(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ title, route, count, faults, p50, p95 }) => (
            <tr key={`${title}${route}`}>
              <td>{t(title)}</td>
              <td>
                <code>{route}</code>
              </td>
              <td className="number">{formatNumber(count)}</td>
              <td className="number">{formatNumber(faults)}</td>
              <td className="number">{toFigure(p50)}</td>
              <td className="number">{toFigure(p95)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

function toFigure(seconds: number | undefined): string {
  return seconds === undefined ? '–' : formatMs(seconds * 1000);
}
