import { lazy, Suspense } from 'react';
import { isRefused } from '../api/call-service.ts';
import { useOperatorQuery } from '../api/operator-token.ts';
import { t } from '../i18n/text.ts';
import { useLocation } from '../location.ts';
import { Link } from '../ui/link.tsx';
import { OperatorSignIn } from '../ui/operator-sign-in.tsx';
import { toTitle } from './names.ts';
import { programApi } from './program-api.ts';
import { ProgramList } from './program-list.tsx';
import { Workspace } from './workspace.tsx';
import '../styles/programs.css';

const CallersPage = lazy(async () => ({ default: (await import('../callers/callers-page.tsx')).CallersPage }));

/** Programs: their states and texts, and statistics of calls. */
export function ProgramsView() {
  const { searchParams } = useLocation();
  const name = searchParams.get('program');
  const isCallers = searchParams.has('callers');
  const query = useOperatorQuery({ queryKey: ['programs'], queryFn: programApi.list });
  const mayEdit = query.data !== undefined && !query.data.readOnly && query.data.role !== 'viewer';
  return (
    <>
      <div className="view-head">
        <div>
          <h1>
            {isCallers ? (
              t('callers.title')
            ) : name === null ? (
              t('app.programs')
            ) : (
              <>
                <Link href="/programs">{t('app.programs')}</Link> / <bdi>{toTitle(name)}</bdi>
              </>
            )}
          </h1>
          {isCallers ? <p>{t('callers.intro')}</p> : name === null && <p>{t('programs.intro')}</p>}
        </div>
        {name === null && (
          <nav className="tabs" aria-label={t('programs.tabs')}>
            <Link href="/programs" aria-current={isCallers ? undefined : 'page'}>
              {t('app.programs')}
            </Link>
            <Link href="/programs?callers=one" aria-current={isCallers ? 'page' : undefined}>
              {t('callers.title')}
            </Link>
          </nav>
        )}
      </div>
      {isRefused(query.error) ? (
        <section className="panel" aria-label={t('operator.signIn')}>
          <OperatorSignIn message={query.error?.message ?? ''} />
        </section>
      ) : query.error ? (
        <p className="notice notice-danger">{query.error.message}</p>
      ) : isCallers && query.data ? (
        <Suspense fallback={<p className="quiet">{t('app.loading')}</p>}>
          <CallersPage role={query.data.role} />
        </Suspense>
      ) : name !== null && query.data ? (
        <Workspace key={name} name={name} mayEdit={mayEdit} listed={query.data} />
      ) : query.data ? (
        <ProgramList programs={query.data.programs} mayEdit={mayEdit} />
      ) : (
        <p className="quiet">{t('app.loading')}</p>
      )}
    </>
  );
}
