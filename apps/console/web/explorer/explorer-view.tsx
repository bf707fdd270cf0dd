import '../styles/explorer.css';
import { useQuery } from '@tanstack/react-query';
import { t } from '../i18n/text.ts';
import { useLocation } from '../location.ts';
import { Fault } from '../ui/fault.tsx';
import { GuideLink } from '../ui/guide-link.tsx';
import { Link } from '../ui/link.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { askGateway, useRoutes } from './ask-gateway.ts';
import { BlocksPage, TransactionsPage } from './chain-pages.tsx';
import { ClaimsPage } from './claims-page.tsx';
import { EntitiesPage } from './entities-page.tsx';
import { RecordPage, recordNames } from './record-page.tsx';
import { findPath, type Route } from './routes.ts';
import { RoutesPage } from './routes-page.tsx';
import { SearchBox } from './search-box.tsx';
import { TokensPage } from './tokens-page.tsx';

const pages = [
  { name: 'entities', title: 'explorer.entities', Page: EntitiesPage },
  { name: 'claims', title: 'explorer.claims', Page: ClaimsPage },
  { name: 'tokens', title: 'explorer.tokens', Page: TokensPage },
  { name: 'transactions', title: 'explorer.transactions', Page: TransactionsPage },
  { name: 'blocks', title: 'explorer.blocks', Page: BlocksPage },
  { name: 'routes', title: 'explorer.routes', Page: RoutesPage },
] as const;

/** The protocol as the query gateway shows it: as pages to read, and route by route. */
export function ExplorerView() {
  const { searchParams } = useLocation();
  const wanted = searchParams.get('page');
  const record = recordNames.find((name) => name === wanted);
  const open = record ? undefined : (pages.find(({ name }) => name === wanted) ?? pages[0]);
  const routes = useRoutes();
  return (
    <>
      <div className="view-head">
        <div>
          <h1>{t('app.explorer')}</h1>
          <p>
            {t('explorer.intro')} <GuideLink name="gateway" /> {routes.data && <LiveHeight routes={routes.data} />}
          </p>
        </div>
        <Tabs
          label={t('explorer.pages')}
          open={open?.name}
          tabs={pages.map(({ name, title }) => ({ name, title: t(title), href: `/explorer?page=${name}` }))}
        />
      </div>
      {routes.error ? (
        <Fault error={routes.error} />
      ) : routes.data ? (
        <>
          <SearchBox routes={routes.data} />
          {record && <RecordPage key={searchParams.get('id')} name={record} routes={routes.data} />}
          {open && <open.Page routes={routes.data} />}
        </>
      ) : (
        <p className="quiet">{t('explorer.askingRoutes')}</p>
      )}
    </>
  );
}

/** The height of the node as it grows. */
function LiveHeight({ routes }: { routes: Route[] }) {
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
