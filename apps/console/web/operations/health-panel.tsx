import { useQueries } from '@tanstack/react-query';
import { type ServiceName, toServicePath } from '../api/call-service.ts';
import { watched } from './watched.ts';

type Health = Record<string, unknown> & { status?: string; upstreams?: { address: string; healthy: boolean }[] };

/** Every service's own word on its health, and the gateway's on its nodes. */
export function HealthPanel() {
  const answers = useQueries({
    queries: watched.map(({ service }) => ({
      queryKey: ['health', service],
      refetchInterval: 5_000,
      queryFn: () => loadHealth(service),
    })),
  });
  const upstreams = answers.flatMap(({ data }) => data?.upstreams ?? []);
  return (
    <ul className="health" aria-label="Health">
      {watched.map(({ service, title }, index) => (
        <HealthCard key={service} title={title} health={answers[index]?.data} />
      ))}
      {upstreams.map(({ address, healthy }) => (
        <HealthCard key={address} title="Protocol node" health={{ status: healthy ? 'ok' : 'down', address }} />
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
      <span className={`badge ${tone}`}>{status}</span>
      <p className="quiet small">{toDetails(health)}</p>
    </li>
  );
}

function toDetails(health: Health | undefined): string {
  if (!health || health.status === 'down') return health?.address ? String(health.address) : '';
  const { uptime, database, height, routes, page, address } = health;
  return [
    typeof uptime === 'number' && `up ${toDuration(uptime)}`,
    database && `database ${database}`,
    typeof height === 'number' && `height ${height.toLocaleString('en')}`,
    typeof routes === 'number' && `${routes} routes`,
    page && `page ${page}`,
    address,
  ]
    .filter(Boolean)
    .join(' · ');
}

function toDuration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3_600)} h`;
}
