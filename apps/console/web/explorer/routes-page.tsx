import { useState } from 'react';
import { t } from '../i18n/text.ts';
import { useLocation } from '../location.ts';
import { InputField } from '../ui/fields.tsx';
import { Link } from '../ui/link.tsx';
import { RouteForm } from './route-form.tsx';
import type { Route } from './routes.ts';

/** Every route of the live document, with a form for each. */
export function RoutesPage({ routes }: { routes: Route[] }) {
  const { searchParams } = useLocation();
  const [search, setSearch] = useState('');
  const shown = routes.filter(({ path, title }) => `${path} ${title}`.toLowerCase().includes(search.toLowerCase()));
  const groups = Map.groupBy(shown, ({ group }) => group);
  const open = routes.find(({ path }) => path === searchParams.get('route')) ?? shown[0];
  return (
    <div className="split">
      <section className="panel split-list" aria-label={t('explorer.routeList')}>
        <InputField
          label={t('explorer.routeCount', { count: routes.length })}
          type="search"
          placeholder={t('explorer.routeHint')}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        {[...groups].map(([group, members]) => (
          <div key={group} className="route-group">
            <h2>{group}</h2>
            <ul>
              {members.map(({ path, title }) => (
                <li key={path}>
                  <Link
                    href={`/explorer?page=routes&route=${encodeURIComponent(path)}`}
                    aria-current={path === open?.path ? 'true' : undefined}
                  >
                    <span>{title}</span>
                    <code>{path}</code>
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
        {shown.length === 0 && <p className="empty">{t('explorer.noRoute', { text: search })}</p>}
      </section>
      {open && <RouteForm key={open.path} route={open} />}
    </div>
  );
}
