import { lazy, Suspense } from 'react';
import { isRefused } from '../api/call-service.ts';
import { useOperatorQuery } from '../api/operator-token.ts';
import { t } from '../i18n/text.ts';
import { useLocation } from '../location.ts';
import { GuideLink } from '../ui/guide-link.tsx';
import { Link } from '../ui/link.tsx';
import { OperatorSignIn } from '../ui/operator-sign-in.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { toTitle } from './names.ts';
import { programApi } from './program-api.ts';
import { ProgramList } from './program-list.tsx';
import '../styles/programs.css';
import { Waiting } from '../ui/fault.tsx';

const Workspace = lazy(async () => ({ default: (await import('./workspace.tsx')).Workspace }));
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
          <p>
            {isCallers ? t('callers.intro') : name === null && t('programs.intro')} <GuideLink name="ussd-menus" />
          </p>
        </div>
        {name === null && (
          <Tabs
            label={t('programs.tabs')}
            open={isCallers ? 'callers' : 'programs'}
            tabs={[
              { name: 'programs', title: t('app.programs'), href: '/programs' },
              { name: 'callers', title: t('callers.title'), href: '/programs?callers=one' },
            ]}
          />
        )}
      </div>
      {isRefused(query.error) ? (
        <section className="panel" aria-label={t('operator.signIn')}>
          <OperatorSignIn message={query.error?.message ?? ''} />
        </section>
      ) : query.data && (isCallers || name !== null) ? (
        <Suspense fallback={<Waiting />}>
          {isCallers ? (
            <CallersPage role={query.data.role} />
          ) : (
            <Workspace key={name} name={name ?? ''} mayEdit={mayEdit} listed={query.data} />
          )}
        </Suspense>
      ) : query.data ? (
        <ProgramList programs={query.data.programs} mayEdit={mayEdit} />
      ) : (
        <Waiting error={query.error} />
      )}
    </>
  );
}
