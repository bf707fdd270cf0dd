import { useQueries } from '@tanstack/react-query';
import { type ServiceName, toServicePath } from '../api/call-service.ts';
import { formatUnit } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { type Figures, watched } from './figures.ts';

type Health = Record<string, unknown> & { status?: string; upstreams?: { address: string; healthy: boolean }[] };

/** The health that each service reports, and that of the gateway's nodes. Where there are no figures, services are asked. */
export function HealthPanel({ figures, isAlone }: { figures: Figures; isAlone: boolean }) {
  const answers = useQueries({
    queries: watched.map(({ service }) => ({
      queryKey: ['health', service],
      enabled: isAlone,
      refetchInterval: 15_000,
      queryFn: () => loadHealth(service),
    })),
  });
  const healths = watched.map(({ service, title }, index) => ({
    title,
    health: isAlone ? answers[index]?.data : (figures[`health:${service}`] as Health | undefined),
  }));
  const upstreams = healths.flatMap(({ health }) => health?.upstreams ?? []);
  return (
    <ul className="health" aria-label={t('operations.health')}>
      {healths.map(({ title, health }) => (
        <HealthCard key={title} title={t(title)} health={health} />
      ))}
      {upstreams.map(({ address, healthy }) => (
        <HealthCard key={address} title={t('operations.node')} health={{ status: healthy ? 'ok' : 'down', address }} />
      ))}
    </ul>
  );
}

async function loadHealth(service: ServiceName): Promise<Health> {
  try {
    const response = await fetch(toServicePath(service, '/health'), { cache: 'no-store' });
    const body = (await response.json()) as Health & { code?: string };
    return body.code === 'UNAVAILABLE' ? { status: 'down' } : body;
  } catch {
    return { status: 'down' };
  }
}

function HealthCard({ title, health }: { title: string; health: Health | undefined }) {
  const status = health?.status ?? 'asking';
  const tone =
    status === 'ok' ? 'badge-ok' : status === 'asking' ? '' : status === 'degraded' ? 'badge-warn' : 'badge-danger';
  return (
    <li className="panel health-card">
      <h2>{title}</h2>
      <span className={`badge ${tone}`}>{toWord(status)}</span>
      <p className="quiet small">{toDetails(health)}</p>
    </li>
  );
}

const words = ['ok', 'degraded', 'down', 'asking', 'connected', 'ready', 'building', 'failed'] as const;

function toWord(status: string): string {
  const known = words.find((word) => word === status);
  return known ? t(`operations.${known}`) : status;
}

function toDetails(health: Health | undefined): string {
  if (!health || health.status === 'down') return health?.address ? String(health.address) : '';
  const { uptime, database, height, routes, page, address } = health;
  return [
    typeof uptime === 'number' && t('operations.up', { time: toDuration(uptime) }),
    database && t('operations.database', { state: toWord(String(database)) }),
    typeof height === 'number' && t('operations.height', { height }),
    typeof routes === 'number' && t('explorer.routeCount', { count: routes }),
    page && t('operations.page', { state: toWord(String(page)) }),
    address,
  ]
    .filter(Boolean)
    .join(' · ');
}

function toDuration(seconds: number): string {
  if (seconds < 120) return formatUnit(seconds, 'second');
  if (seconds < 7_200) return formatUnit(seconds / 60, 'minute');
  return formatUnit(seconds / 3_600, 'hour');
}
