import { JsonView } from '../ui/json-view.tsx';
import { Link } from '../ui/link.tsx';
import { AnswerBar } from './answer-bar.tsx';
import { useAnswer } from './ask-gateway.ts';
import { type Entity, type IidDocument, shorten, toDay } from './protocol.ts';

/** One entity as a page: what it is called, what it is, what it is linked to. */
export function EntityPage({ target }: { target: string }) {
  const answer = useAnswer(target);
  if (answer.error) {
    return (
      <p className="notice notice-danger" role="alert">
        {answer.error.message}
      </p>
    );
  }
  if (!answer.data) return <p className="quiet">Reading…</p>;
  const { entity, iidDocument: document } = answer.data.body as { entity: Entity; iidDocument?: IidDocument };
  const profile = document?.linkedResource?.find(({ id }) => id.endsWith('#profile')) ?? document?.linkedResource?.[0];
  return (
    <article className="panel reading">
      <header>
        <p className="quiet small">{entity.type}</p>
        <h2 className="reading-title">{profile?.description || shorten(entity.id)}</h2>
        <p>
          <code className="break">{entity.id}</code>
        </p>
        <p className="badges">
          <span className={entity.entity_verified ? 'badge badge-ok' : 'badge badge-warn'}>
            {entity.entity_verified ? 'verified' : 'not verified'}
          </span>
          <span className="badge">since {toDay(entity.start_date)}</span>
          {entity.end_date && <span className="badge">until {toDay(entity.end_date)}</span>}
        </p>
      </header>
      <Services services={document?.service ?? []} />
      <Linked entities={document?.linkedEntity ?? []} />
      <Resources resources={document?.linkedResource ?? []} />
      <section>
        <h3>Accounts</h3>
        <dl className="facts">
          {(entity.accounts ?? []).map(({ name, address }) => (
            <div key={address} className="facts-row">
              <dt>{name}</dt>
              <dd>
                <code>{address}</code>
              </dd>
            </div>
          ))}
        </dl>
      </section>
      <AnswerBar answer={answer.data} />
      <details>
        <summary>The whole answer</summary>
        <JsonView value={answer.data.body} label="The whole answer" />
      </details>
    </article>
  );
}

function Services({ services }: { services: NonNullable<IidDocument['service']> }) {
  if (services.length === 0) return null;
  return (
    <section>
      <h3>Services</h3>
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
      <h3>Linked entities</h3>
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
      <h3>Linked resources</h3>
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
