import '../styles/programs.css';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { isRefused, useOperatorQuery } from '../api/call-service.ts';
import { formatDay, t } from '../i18n/text.ts';
import { navigate, useLocation } from '../location.ts';
import { Fault, Link, OperatorSignIn, Tabs, ViewHead, Waiting } from '../ui/content.tsx';
import { Button, Form, InputField, SelectField } from '../ui/controls.tsx';
import { codePattern, type Template, templates, toProgramName, toTitle } from './names.ts';
import { type ListedProgram, programApi } from './program-api.ts';

const Workspace = lazy(async () => ({ default: (await import('./workspace.tsx')).Workspace }));
const CallersPage = lazy(async () => ({ default: (await import('../callers/callers-page.tsx')).CallersPage }));

export function ProgramsView() {
  const { searchParams } = useLocation();
  const name = searchParams.get('program');
  const isCallers = searchParams.has('callers');
  const query = useOperatorQuery({ queryKey: ['programs'], queryFn: programApi.list });
  const title = query.data?.programs.find((program) => program.name === name)?.title;
  const mayEdit = query.data !== undefined && !query.data.readOnly && query.data.role !== 'viewer';
  return (
    <>
      <ViewHead
        guide="ussd-menus"
        intro={isCallers ? t('callers.intro') : name === null && t('programs.intro')}
        title={
          isCallers || name === null ? (
            t(isCallers ? 'callers.title' : 'app.programs')
          ) : (
            <>
              <Link href="/programs">{t('app.programs')}</Link> / <bdi>{title ?? toTitle(name)}</bdi>
            </>
          )
        }
      >
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
      </ViewHead>
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

export function ProgramList({ programs, mayEdit }: { programs: ListedProgram[]; mayEdit: boolean }) {
  return (
    <div className="stack">
      {mayEdit && <NewProgram taken={programs.map(({ name }) => name)} />}
      <ul className="program-list">
        {programs.map(({ name, title, codes, languages, version, isPublished, draft }) => (
          <li key={name} className="panel">
            <h2>
              <Link href={`/programs?program=${name}`}>
                <bdi>{title ?? toTitle(name)}</bdi>
              </Link>
            </h2>
            {version !== null && (
              <p className="numbers">
                <bdi>{codes.join(', ') || t('programs.otherCodes')}</bdi>
              </p>
            )}
            <p className="badges">
              {languages.length > 0 && <span className="badge">{languages.join(', ')}</span>}
              <span className={isPublished ? 'badge badge-ok' : 'badge'}>
                {t(version === null ? 'programs.notInUse' : isPublished ? 'programs.published' : 'programs.fromFolder')}
              </span>
              {draft && (
                <span className="badge badge-warn">{t('programs.draftOf', { day: formatDay(draft.updatedAt) })}</span>
              )}
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}

function NewProgram({ taken }: { taken: readonly string[] }) {
  const queries = useQueryClient();
  const [title, setTitle] = useState('');
  const [code, setCode] = useState('');
  const [template, setTemplate] = useState<Template>('blank');
  const create = useMutation({
    mutationFn: async () => {
      const name = toProgramName(title, new Set(taken));
      const { createProgram } = await import('./template-files.ts');
      const files = createProgram({ name, title: title.trim(), code, template });
      await programApi.saveDraft(name, { files, revision: 0 });
      await queries.invalidateQueries({ queryKey: ['programs'] });
      navigate(`/programs?program=${name}`);
    },
  });
  return (
    <Form className="new-program" onSubmit={create.mutate}>
      <InputField label={t('programs.newName')} required maxLength={80} value={title} onChange={setTitle} />
      <InputField
        label={t('programs.code')}
        required
        dir="ltr"
        pattern={codePattern}
        expects={t('programs.expectsCode')}
        placeholder="*384*5#"
        value={code}
        onChange={setCode}
      />
      <SelectField
        label={t('programs.template')}
        value={template}
        onChange={setTemplate}
        options={templates.map((each) => [each, t(`programs.template-${each}`)])}
      />
      <Button text={t('programs.create')} type="submit" main icon="plus" />
      {create.error && <Fault error={create.error} />}
    </Form>
  );
}
