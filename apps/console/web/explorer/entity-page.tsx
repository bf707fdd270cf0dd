import { formatDay } from '../i18n/format.ts';
import { t } from '../i18n/text.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Fault } from '../ui/fault.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Link } from '../ui/link.tsx';
import { AnswerBar } from './answer-bar.tsx';
import { useAnswer } from './ask-gateway.ts';
import { type Entity, type IidDocument, shorten } from './protocol.ts';
import { toName } from './use-entity-names.ts';

/** One entity as a page: what it is called, what it is, what it is linked to. */
export function EntityPage({ target }: { target: string }) {
  const answer = useAnswer(target);
  if (answer.error) {
    return <Fault error={answer.error} />;
  }
  if (!answer.data) return <p className="quiet">{t('explorer.reading')}</p>;
  const { entity, iidDocument: document } = answer.data.body as { entity: Entity; iidDocument?: IidDocument };
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
      <Services services={document?.service ?? []} />
      <Linked entities={document?.linkedEntity ?? []} />
      <Resources resources={document?.linkedResource ?? []} />
      <section>
        <h3>{t('explorer.accounts')}</h3>
        <dl className="facts">
          {(entity.accounts ?? []).map(({ name, address }) => (
            <div key={address} className="facts-row">
              <dt>{name}</dt>
              <dd>
                <Link href={`/explorer?page=account&id=${address}`}>
                  <code>{address}</code>
                </Link>
              </dd>
            </div>
          ))}
        </dl>
      </section>
      <AnswerBar answer={answer.data} />
      <details>
        <summary>{t('explorer.wholeAnswer')}</summary>
        <JsonView value={answer.data.body} label={t('explorer.wholeAnswer')} />
      </details>
    </article>
  );
}

function Services({ services }: { services: NonNullable<IidDocument['service']> }) {
  if (services.length === 0) return null;
  return (
    <section>
      <h3>{t('explorer.services')}</h3>
      <dl className="facts">
        {services.map(({ id, type, serviceEndpoint }) => (
          <div key={id} className="facts-row">
            <dt>{type}</dt>
            <dd>
              <code>{serviceEndpoint}</code>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Linked({ entities }: { entities: NonNullable<IidDocument['linkedEntity']> }) {
  if (entities.length === 0) return null;
  return (
    <section>
      <h3>{t('explorer.linkedEntities')}</h3>
      <ul className="link-list">
        {entities.map(({ id, type, relationship }) => (
          <li key={`${id}${relationship}`}>
            <Link href={`/explorer?page=entities&id=${encodeURIComponent(id)}`}>{shorten(id)}</Link>{' '}
            <span className="quiet">
              {type}
              {relationship ? `, ${relationship}` : ''}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Resources({ resources }: { resources: NonNullable<IidDocument['linkedResource']> }) {
  if (resources.length === 0) return null;
  return (
    <section>
      <h3>{t('explorer.linkedResources')}</h3>
      <ul className="link-list">
        {resources.map(({ id, type, description, mediaType }) => (
          <li key={id}>
            {description || id} <span className="quiet">{[type, mediaType].filter(Boolean).join(', ')}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
