import { type ReactNode, useState } from 'react';
import { formatDay } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { useLocation } from '../location.ts';
import { Button, CopyButton } from '../ui/button.tsx';
import { Fault } from '../ui/fault.tsx';
import { Link } from '../ui/link.tsx';
import { Facts } from '../ui/panel.tsx';
import { JsonView } from '../ui/table.tsx';
import { AnswerBar } from './answer-bar.tsx';
import { encodePath, findPath, type Route, useAnswer } from './gateway.ts';
import { type Entity, type IidDocument, shorten, toEntityPath, toName, useEntityNames } from './protocol.ts';

const pageSize = 100;

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

function EntityPage({ target }: { target: string }) {
  const answer = useAnswer(target);
  if (answer.error) return <Fault error={answer.error} />;
  if (!answer.data) return <p className="quiet">{t('explorer.reading')}</p>;
  const { entity, iidDocument: document } = answer.data.body as { entity: Entity; iidDocument?: IidDocument };
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
      <AnswerBar answer={answer.data} />
      <details>
        <summary>{t('explorer.wholeAnswer')}</summary>
        <JsonView value={answer.data.body} label={t('explorer.wholeAnswer')} />
      </details>
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
