import { type ReactNode, useState } from 'react';
import { formatDay, t } from '../i18n/text.ts';
import { useLocation } from '../location.ts';
import { Facts, Fault, Link } from '../ui/content.tsx';
import { Button, CopyButton } from '../ui/controls.tsx';
import { WholeAnswer } from './answer-bar.tsx';
import { encodePath, useAnswer, usePaths } from './gateway.ts';
import { type Entity, type IidDocument, shorten, toEntityPath, toName, useEntityNames } from './protocol.ts';
import { GroupedLinks } from './routes-page.tsx';

const pageSize = 100;

interface EntityList {
  entities?: Entity[];
  pagination?: { next_key?: string | null };
}

export function EntitiesPage() {
  const { searchParams } = useLocation();
  const [listPath, entityPath] = usePaths('/entity', '/entity/{id}');
  const names = useEntityNames();
  const [limit, setLimit] = useState(pageSize);
  const list = useAnswer<EntityList>(listPath && `${listPath}?pagination.limit=${limit}`);
  const { entities = [], pagination } = list.data?.body ?? {};
  const id = searchParams.get('id') ?? entities[0]?.id;
  if (!listPath || !entityPath) return <p className="empty">{t('explorer.noEntityRoutes')}</p>;
  return (
    <div className="split">
      <section className="panel split-list" aria-label={t('explorer.entities')}>
        {list.error && <Fault error={list.error} />}
        <GroupedLinks
          groups={Map.groupBy(entities, ({ type }) => type ?? t('explorer.other'))}
          open={id}
          toLink={({ id }) => ({ id, href: toEntityPath(id), title: names.get(id), code: shorten(id) })}
        />
        {pagination?.next_key && <Button onClick={() => setLimit(limit + pageSize)}>{t('explorer.more')}</Button>}
      </section>
      {id && <EntityPage key={id} target={entityPath.replace('{id}', encodePath(id))} />}
    </div>
  );
}

function EntityPage({ target }: { target: string }) {
  const answer = useAnswer<{ entity: Entity; iidDocument?: IidDocument }>(target);
  if (answer.error) return <Fault error={answer.error} />;
  if (!answer.data) return <p className="quiet">{t('explorer.reading')}</p>;
  const { entity, iidDocument: document } = answer.data.body;
  const services = document?.service ?? [];
  return (
    <article className="panel reading">
      <header>
        <p className="quiet small">{entity.type}</p>
        <h2 className="reading-title">{toName(document) || shorten(entity.id)}</h2>
        <p>
          <code className="break">{entity.id}</code> <CopyButton text={entity.id} label={t('explorer.copyId')} />
        </p>
        <p className="badges">
          <span className={entity.entity_verified ? 'badge badge-ok' : 'badge badge-warn'}>
            {t(entity.entity_verified ? 'explorer.verified' : 'explorer.notVerified')}
          </span>
          <span className="badge">{t('explorer.since', { day: formatDay(entity.start_date) })}</span>
          {entity.end_date && <span className="badge">{t('explorer.until', { day: formatDay(entity.end_date) })}</span>}
        </p>
      </header>
      {services.length > 0 && (
        <section>
          <h3>{t('explorer.services')}</h3>
          <Facts
            rows={services.map(({ type, serviceEndpoint }) => [type, <code key={type}>{serviceEndpoint}</code>])}
          />
        </section>
      )}
      <LinkList
        title={t('explorer.linkedEntities')}
        items={(document?.linkedEntity ?? []).map(({ id, type, relationship }) => ({
          key: `${id}${relationship}`,
          name: <Link href={toEntityPath(id)}>{shorten(id)}</Link>,
          about: [type, relationship],
        }))}
      />
      <LinkList
        title={t('explorer.linkedResources')}
        items={(document?.linkedResource ?? []).map(({ id, type, description, mediaType }) => ({
          key: id,
          name: description || id,
          about: [type, mediaType],
        }))}
      />
      <section>
        <h3>{t('explorer.accounts')}</h3>
        <Facts
          rows={(entity.accounts ?? []).map(({ name, address }) => [
            name,
            <Link key={address} href={`/explorer?page=account&id=${address}`}>
              <code>{address}</code>
            </Link>,
          ])}
        />
      </section>
      <WholeAnswer answer={answer.data} />
    </article>
  );
}

interface LinkListProps {
  title: string;
  items: readonly { key: string; name: ReactNode; about: (string | undefined)[] }[];
}

function LinkList({ title, items }: LinkListProps) {
  if (items.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul className="link-list">
        {items.map(({ key, name, about }) => (
          <li key={key}>
            {name} <span className="quiet">{about.filter(Boolean).join(', ')}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
