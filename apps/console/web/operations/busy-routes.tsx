import { toQuantile } from '../../src/metrics/load.ts';
import { t } from '../i18n/text.ts';
import { Panel } from '../ui/panel.tsx';
import { RouteTable } from './route-table.tsx';
import type { Load } from './use-load.ts';
import { watched } from './watched.ts';

const shown = 12;

/** The routes asked most since each service started. */
export function BusyRoutes({ loads }: { loads: (Load | undefined)[] }) {
  const rows = watched
    .filter(({ service }) => service !== 'console')
    .flatMap(({ title }, index) =>
      [...(loads[index]?.history.at(-1)?.routes.values() ?? [])].map(({ method, route, count, faults, buckets }) => ({
        ...{ title, route: `${method} ${route}`, count, faults },
        p50: toQuantile(buckets, 0.5),
        p95: toQuantile(buckets, 0.95),
      })),
    )
    .sort((a, b) => b.count - a.count)
    .slice(0, shown);
  return (
    <Panel
      title={t('operations.busiest')}
      beside={<span className="quiet small">{t('operations.sinceStart')}</span>}
      empty={rows.length === 0 && t('operations.nothingAsked')}
    >
      <RouteTable label={t('operations.busiest')} rows={rows} />
    </Panel>
  );
}
