import { useState } from 'react';
import { formatCount, formatDay, t } from '../i18n/text.ts';
import { navigate, useLocation } from '../location.ts';
import { Fault, Link, Table } from '../ui/content.tsx';
import { Button, Options } from '../ui/controls.tsx';
import { AnswerBar } from './answer-bar.tsx';
import { useAnswer, usePaths } from './gateway.ts';
import {
  type Claim,
  type ClaimPages,
  type Collection,
  outcomes,
  shorten,
  toEntityPath,
  toWord,
  useClaims,
  useEntityNames,
} from './protocol.ts';

export function ClaimsPage() {
  const { searchParams } = useLocation();
  const [collectionsPath, claimsPath] = usePaths('/claims/collections', '/claims/claims');
  const listTarget = collectionsPath && `${collectionsPath}?pagination.limit=100`;
  const collections = useAnswer<{ collections?: Collection[] }>(listTarget);
  const chosen = searchParams.get('collection') ?? '';
  const [outcome, setOutcome] = useState('');
  const isWanted = ({ collection_id: id, evaluation }: Claim) =>
    (!chosen || id === chosen) && (!outcome || (evaluation?.status ?? 'PENDING') === outcome);
  const claims = useClaims(claimsPath, isWanted);
  if (!collectionsPath || !claimsPath) return <p className="empty">{t('explorer.noClaimRoutes')}</p>;
  const error = collections.error ?? claims.error;
  return (
    <div className="stack">
      {error && <Fault error={error} />}
      <ul className="cards">
        {collections.data?.body.collections?.map((collection) => (
          <CollectionCard key={collection.id} collection={collection} isOpen={collection.id === chosen} />
        ))}
      </ul>
      <section className="panel" aria-label={t('explorer.claims')}>
        <div className="panel-head">
          <h2>{chosen ? t('explorer.claimsOf', { id: chosen }) : t('explorer.allClaims')}</h2>
          <select
            aria-label={t('explorer.outcome')}
            value={outcome}
            onChange={(event) => setOutcome(event.target.value)}
          >
            <option value="">{t('explorer.everyOutcome')}</option>
            <Options of={outcomes.map((name) => [name, toWord(name)])} />
          </select>
          {chosen && <Button text={t('explorer.showAll')} small onClick={() => navigate('/explorer?page=claims')} />}
        </div>
        <ClaimTable key={`${chosen} ${outcome}`} {...claims} />
        {claims.answer && <AnswerBar answer={claims.answer} />}
      </section>
    </div>
  );
}

function CollectionCard({ collection, isOpen }: { collection: Collection; isOpen: boolean }) {
  const names = useEntityNames();
  const { id, entity, count, quota, approved, rejected, disputed, state, start_date, end_date } = collection;
  const whole = Math.max(Number(quota ?? 0), Number(count ?? 0), 1);
  const share = (part: string | undefined) => (Number(part ?? 0) / whole) * 100;
  const parts = [
    ['approved', share(approved)],
    ['rejected', share(rejected)],
    ['disputed', share(disputed)],
  ] as const;
  return (
    <li className="panel card" aria-current={isOpen || undefined}>
      <div className="panel-head">
        <h2>
          <Link href={`/explorer?page=claims&collection=${id}`}>{t('explorer.collection', { id })}</Link>
        </h2>
        <span className={state === 'OPEN' ? 'badge badge-ok' : 'badge'}>{toWord(state)}</span>
      </div>
      <p className="quiet small">
        {end_date
          ? t('explorer.period', { start: formatDay(start_date), end: formatDay(end_date) })
          : t('explorer.since', { day: formatDay(start_date) })}
        {entity && (
          <>
            {' · '}
            <Link href={toEntityPath(entity)}>{names.get(entity) ?? shorten(entity)}</Link>
          </>
        )}
      </p>
      <svg className="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect className="share-all" width="100" height="4" />
        <rect className="share-submitted" width={share(count)} height="4" />
        {parts.map(([name, width], index) => (
          <rect
            key={name}
            className={`share-${name}`}
            x={parts.slice(0, index).reduce((sum, [, before]) => sum + before, 0)}
            width={width}
            height="4"
          />
        ))}
      </svg>
      <p className="small numbers">
        {[
          quota && quota !== '0'
            ? t('explorer.claimsOfQuota', { claims: formatCount(count), quota: formatCount(quota) })
            : t('explorer.claimsNoQuota', { claims: formatCount(count) }),
          t('explorer.approvedCount', { claims: formatCount(approved) }),
          t('explorer.rejectedCount', { claims: formatCount(rejected) }),
          t('explorer.disputedCount', { claims: formatCount(disputed) }),
        ].join(' · ')}
      </p>
    </li>
  );
}

const columns = ['claim', 'collectionHead', 'submitted', 'evaluated', 'outcome'] as const;

function ClaimTable({ claims, hasMore, isReading, loadMore }: ClaimPages) {
  if (claims.length === 0) return <p className="empty">{t(isReading ? 'explorer.reading' : 'explorer.noClaims')}</p>;
  return (
    <>
      <Table label={t('explorer.claims')} heads={columns.map((column) => t(`explorer.${column}`))}>
        {claims.map((claim) => (
          <tr key={claim.claim_id}>
            <td>
              <Link href={`/explorer?page=claim&id=${encodeURIComponent(claim.claim_id)}`}>
                <code title={claim.claim_id}>{shorten(claim.claim_id)}</code>
              </Link>
            </td>
            <td>
              <Link href={`/explorer?page=claims&collection=${claim.collection_id}`}>{claim.collection_id}</Link>
            </td>
            <td>{formatDay(claim.submission_date)}</td>
            <td>{formatDay(claim.evaluation?.evaluation_date)}</td>
            <td>
              <Outcome status={claim.evaluation?.status} />
            </td>
          </tr>
        ))}
      </Table>
      {hasMore && <Button text={t('explorer.more')} disabled={isReading} onClick={loadMore} />}
    </>
  );
}

function Outcome({ status }: { status: string | undefined }) {
  const tone = { APPROVED: 'badge badge-ok', REJECTED: 'badge badge-danger', DISPUTED: 'badge badge-warn' };
  const className = tone[status as keyof typeof tone] ?? 'badge';
  return <span className={className}>{toWord(status ?? 'PENDING')}</span>;
}
