import { formatMs, formatNumber } from '../i18n/format.ts';
import { type MessageKey, t } from '../i18n/text.ts';
import { Table } from '../ui/table.tsx';

export interface RouteRow {
  title: MessageKey;
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
    <Table
      label={label}
      heads={[t('operations.service'), t('operations.route'), ...columns.map((column): [string] => [t(column)])]}
    >
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
    </Table>
  );
}

function toFigure(seconds: number | undefined): string {
  return seconds === undefined ? '–' : formatMs(seconds * 1000);
}
