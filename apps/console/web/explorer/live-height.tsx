import { useQuery } from '@tanstack/react-query';
import { t } from '../i18n/text.ts';
import { Link } from '../ui/link.tsx';
import { askGateway } from './ask-gateway.ts';
import { findPath, type Route } from './routes.ts';

/** The height of the node as it grows. */
export function LiveHeight({ routes }: { routes: Route[] }) {
  const path = findPath(routes, '/blocks/latest');
  const { data } = useQuery({
    queryKey: ['latest-block', path],
    enabled: path !== undefined,
    refetchInterval: 5_000,
    queryFn: async () => {
      const { body } = await askGateway({ target: path ?? '', headers: {} });
      return (body as { block?: { header?: { height?: string } } }).block?.header?.height ?? null;
    },
  });
  if (!data) return null;
  return (
    <Link className="badge badge-ok numbers" href={`/explorer?page=block&id=${data}`}>
      {t('explorer.height', { height: Number(data) })}
    </Link>
  );
}
