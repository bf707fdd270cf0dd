import { useState } from 'react';
import { navigate, useLocation } from '../location.ts';
import { Link } from '../ui/link.tsx';
import { useAnswer } from './ask-gateway.ts';
import { EntityPage } from './entity-page.tsx';
import { type Entity, shorten } from './protocol.ts';
import { encodePath, findPath, type Route } from './routes.ts';

const pageSize = 100;

/** The entities by type; the open one is read beside the list. */
export function EntitiesPage({ routes }: { routes: Route[] }) {
  const { searchParams } = useLocation();
  const listPath = findPath(routes, '/entity');
  const entityPath = findPath(routes, '/entity/{id}');
  const [limit, setLimit] = useState(pageSize);
  const list = useAnswer(listPath && `${listPath}?pagination.limit=${limit}`);
  const body = list.data?.body as { entities?: Entity[]; pagination?: { next_key?: string | null } } | undefined;
  const entities = body?.entities ?? [];
  const id = searchParams.get('id') ?? entities[0]?.id;
  if (!listPath || !entityPath) return <p className="empty">This gateway serves no entity routes.</p>;
  return (
    <div className="split">
      <section className="panel split-list" aria-label="Entities">
        <FindById />
        {list.error && <p className="notice notice-danger">{list.error.message}</p>}
        {[...Map.groupBy(entities, ({ type }) => type ?? 'other')].map(([type, members]) => (
          <div key={type} className="route-group">
            <h2>{type}</h2>
            <ul>
              {members.map((entity) => (
                <li key={entity.id}>
                  <Link
                    href={`/explorer?page=entities&id=${encodeURIComponent(entity.id)}`}
                    aria-current={entity.id === id ? 'true' : undefined}
                  >
                    <code>{shorten(entity.id)}</code>
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
        {body?.pagination?.next_key && (
          <button type="button" className="button" onClick={() => setLimit(limit + pageSize)}>
            More
          </button>
        )}
      </section>
      {id && <EntityPage key={id} target={entityPath.replace('{id}', encodePath(id))} />}
    </div>
  );
}

function FindById() {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const id = String(new FormData(event.currentTarget).get('id') ?? '').trim();
        navigate(`/explorer?page=entities&id=${encodeURIComponent(id)}`);
      }}
    >
      <label className="field">
        <span>Open an entity by its DID</span>
        <input name="id" type="search" placeholder="did:ixo:entity:…" required spellCheck={false} />
      </label>
    </form>
  );
}
