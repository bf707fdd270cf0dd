import { useState } from 'react';
import { t } from '../i18n/text.ts';
import { useLocation } from '../location.ts';
import { Button } from '../ui/button.tsx';
import { Fault } from '../ui/fault.tsx';
import { Link } from '../ui/link.tsx';
import { useAnswer } from './ask-gateway.ts';
import { EntityPage } from './entity-page.tsx';
import { type Entity, shorten } from './protocol.ts';
import { encodePath, findPath, type Route } from './routes.ts';
import { toEntityPath, useEntityNames } from './use-entity-names.ts';

const pageSize = 100;

/** The entities by type; the open one is read beside the list. */
export function EntitiesPage({ routes }: { routes: Route[] }) {
  const { searchParams } = useLocation();
  const listPath = findPath(routes, '/entity');
  const entityPath = findPath(routes, '/entity/{id}');
  const names = useEntityNames(routes);
  const [limit, setLimit] = useState(pageSize);
  const list = useAnswer(listPath && `${listPath}?pagination.limit=${limit}`);
  const body = list.data?.body as { entities?: Entity[]; pagination?: { next_key?: string | null } } | undefined;
  const entities = body?.entities ?? [];
  const id = searchParams.get('id') ?? entities[0]?.id;
  if (!listPath || !entityPath) return <p className="empty">{t('explorer.noEntityRoutes')}</p>;
  return (
    <div className="split">
      <section className="panel split-list" aria-label={t('explorer.entities')}>
        {list.error && <Fault error={list.error} />}
        {[...Map.groupBy(entities, ({ type }) => type ?? t('explorer.other'))].map(([type, members]) => (
          <div key={type} className="route-group">
            <h2>{type}</h2>
            <ul>
              {members.map((entity) => (
                <li key={entity.id}>
                  <Link href={toEntityPath(entity.id)} aria-current={entity.id === id ? 'true' : undefined}>
                    {names.get(entity.id) && <span>{names.get(entity.id)}</span>}
                    <code>{shorten(entity.id)}</code>
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
        {body?.pagination?.next_key && <Button onClick={() => setLimit(limit + pageSize)}>{t('explorer.more')}</Button>}
      </section>
      {id && <EntityPage key={id} target={entityPath.replace('{id}', encodePath(id))} />}
    </div>
  );
}
