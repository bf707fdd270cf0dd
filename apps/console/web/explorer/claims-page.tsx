import { useState } from 'react';
import { navigate, useLocation } from '../location.ts';
import { Link } from '../ui/link.tsx';
import { ScrollRegion } from '../ui/scroll-region.tsx';
import { AnswerBar } from './answer-bar.tsx';
import { useAnswer } from './ask-gateway.ts';
import { type Claim, type Collection, shorten, toCount, toDay } from './protocol.ts';
import { findPath, type Route } from './routes.ts';

const pageSize = 25;

/** Collections with how far they are, and the claims of the one that is open. */
export function ClaimsPage({ routes }: { routes: Route[] }) {
  const { searchParams } = useLocation();
  const collectionsPath = findPath(routes, '/claims/collections');
  const claimsPath = findPath(routes, '/claims/claims');
  const collections = useAnswer(collectionsPath && `${collectionsPath}?pagination.limit=100`);
  const chosen = searchParams.get('collection') ?? '';
  const claims = useAnswer(claimsPath && `${claimsPath}?pagination.limit=500`);
  if (!collectionsPath || !claimsPath) return <p className="empty">This gateway serves no claims routes.</p>;
  const all = (collections.data?.body as { collections?: Collection[] } | undefined)?.collections ?? [];
  const entries = (claims.data?.body as { claims?: Claim[] } | undefined)?.claims ?? [];
  const error = collections.error ?? claims.error;
  return (
    <div className="stack">
      {error && <p className="notice notice-danger">{error.message}</p>}
      <ul className="cards">
        {all.map((collection) => (
          <CollectionCard key={collection.id} collection={collection} isOpen={collection.id === chosen} />
        ))}
      </ul>
      <section className="panel" aria-label="Claims">
        <div className="panel-head">
          <h2>{chosen ? `Claims of collection ${chosen}` : 'All claims'}</h2>
          {chosen && (
            <button type="button" className="button button-small" onClick={() => navigate('/explorer?page=claims')}>
              Show all
            </button>
          )}
        </div>
        <ClaimTable key={chosen} claims={entries.filter(({ collection_id: id }) => !chosen || id === chosen)} />
        {claims.data && <AnswerBar answer={claims.data} />}
      </section>
    </div>
  );
}

function CollectionCard({ collection, isOpen }: { collection: Collection; isOpen: boolean }) {
  const { id, entity, count, quota, approved, rejected, disputed, state, start_date, end_date } = collection;
  const submitted = Number(count ?? 0);
  const share = (part: string | undefined) => (submitted === 0 ? 0 : (Number(part ?? 0) / submitted) * 100);
  return (
    <li className="panel card" aria-current={isOpen || undefined}>
      <div className="panel-head">
        <h2>
          <Link href={`/explorer?page=claims&collection=${id}`}>Collection {id}</Link>
        </h2>
        <span className={state === 'OPEN' ? 'badge badge-ok' : 'badge'}>{state?.toLowerCase()}</span>
      </div>
      <p className="quiet small">
        {end_date ? `${toDay(start_date)} to ${toDay(end_date)}` : `since ${toDay(start_date)}`}
        {entity && (
          <>
            {' '}
            for <Link href={`/explorer?page=entities&id=${encodeURIComponent(entity)}`}>{shorten(entity)}</Link>
          </>
        )}
      </p>
      <svg className="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect className="share-all" width="100" height="4" />
        <rect className="share-approved" width={share(approved)} height="4" />
        <rect className="share-rejected" x={share(approved)} width={share(rejected)} height="4" />
      </svg>
      <p className="small numbers">
        {toCount(count)} {quota && quota !== '0' ? `of ${toCount(quota)} claims` : 'claims, no quota'} ·{' '}
        {toCount(approved)} approved · {toCount(rejected)} rejected · {toCount(disputed)} disputed
      </p>
    </li>
  );
}

function ClaimTable({ claims }: { claims: Claim[] }) {
  const [shown, setShown] = useState(pageSize);
  if (claims.length === 0) return <p className="empty">No claims.</p>;
  return (
    <>
      <ScrollRegion label="Claims">
        <table>
          <thead>
            <tr>
              <th scope="col">Claim</th>
              <th scope="col">Collection</th>
              <th scope="col">Submitted</th>
              <th scope="col">Evaluated</th>
              <th scope="col">Outcome</th>
            </tr>
          </thead>
          <tbody>
            {claims.slice(0, shown).map((claim) => (
              <tr key={claim.claim_id}>
                <td>
                  <code title={claim.claim_id}>{shorten(claim.claim_id)}</code>
                </td>
                <td>{claim.collection_id}</td>
                <td>{toDay(claim.submission_date)}</td>
                <td>{toDay(claim.evaluation?.evaluation_date)}</td>
                <td>
                  <Outcome status={claim.evaluation?.status} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {shown < claims.length && (
        <button type="button" className="button" onClick={() => setShown(shown + pageSize)}>
          Show {Math.min(pageSize, claims.length - shown)} more
        </button>
      )}
    </>
  );
}

function Outcome({ status }: { status: string | undefined }) {
  const tone = { APPROVED: 'badge badge-ok', REJECTED: 'badge badge-danger', DISPUTED: 'badge badge-warn' };
  const className = tone[status as keyof typeof tone] ?? 'badge';
  return <span className={className}>{(status ?? 'waiting').toLowerCase()}</span>;
}
