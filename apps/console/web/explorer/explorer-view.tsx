import { useLocation } from '../location.ts';
import { Link } from '../ui/link.tsx';
import { useRoutes } from './ask-gateway.ts';
import { ClaimsPage } from './claims-page.tsx';
import { EntitiesPage } from './entities-page.tsx';
import { RoutesPage } from './routes-page.tsx';
import { TokensPage } from './tokens-page.tsx';
import '../styles/explorer.css';

const pages = [
  { name: 'entities', title: 'Entities', Page: EntitiesPage },
  { name: 'claims', title: 'Claims', Page: ClaimsPage },
  { name: 'tokens', title: 'Tokens', Page: TokensPage },
  { name: 'routes', title: 'All routes', Page: RoutesPage },
];

/** The protocol as the query gateway shows it: as pages to read, and route by route. */
export function ExplorerView() {
  const { searchParams } = useLocation();
  const open = pages.find(({ name }) => name === searchParams.get('page')) ?? pages[0];
  const routes = useRoutes();
  if (!open) return null;
  return (
    <>
      <div className="view-head">
        <div>
          <h1>Explorer</h1>
          <p>What the protocol knows, asked over plain HTTP through the query gateway.</p>
        </div>
        <nav className="tabs" aria-label="Pages of the explorer">
          {pages.map(({ name, title }) => (
            <Link key={name} href={`/explorer?page=${name}`} aria-current={name === open.name ? 'page' : undefined}>
              {title}
            </Link>
          ))}
        </nav>
      </div>
      {routes.error ? (
        <p className="notice notice-danger" role="alert">
          {routes.error.message}
        </p>
      ) : routes.data ? (
        <open.Page routes={routes.data} />
      ) : (
        <p className="quiet">Asking the gateway for its routes…</p>
      )}
    </>
  );
}
