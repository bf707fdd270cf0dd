import { lazy, Suspense, useCallback, useDeferredValue, useEffect, useMemo, useState } from 'react';
import { useOperatorQuery } from '../api/call-service.ts';
import { formatDay, t } from '../i18n/text.ts';
import { isNarrow, navigate, useLocation } from '../location.ts';
import { ChoiceTabs, Waiting } from '../ui/content.tsx';
import { Button, SelectField, TextButton } from '../ui/controls.tsx';
import { diffPrograms } from './diff-programs.ts';
import { DraftBar, useDraft } from './draft.tsx';
import { keepLost } from './edit-flow.ts';
import { connectStates } from './edit-program.ts';
import { AddState, findStates, Search } from './editor-fields.tsx';
import { type Heat, heats, type StateHeat, toHeat } from './heat.ts';
import { findLostAnswers } from './kept-answers.ts';
import { Outline } from './outline.tsx';
import { type Draft, type ListedPrograms, type Problem, type ProgramFiles, programApi } from './program-api.ts';
import { ProgramContext, useProgram } from './program-context.ts';
import { type ProgramModel, readProgram } from './read-program.ts';

/** Larger than everything else together, so it is loaded once the list of states, shown in its place, can be read. */
const ProgramMap = lazy(async () => {
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return { default: (await import('./program-map.tsx')).ProgramMap };
});
const YamlView = lazy(async () => ({ default: (await import('./yaml-view.tsx')).YamlView }));
const SettingsView = lazy(async () => ({ default: (await import('./settings-view.tsx')).SettingsView }));
const ProgramActions = lazy(async () => ({ default: (await import('./settings-view.tsx')).ProgramActions }));
const Figures = lazy(async () => ({ default: (await import('./figures.tsx')).Figures }));
const ResultsView = lazy(async () => ({ default: (await import('../results/results-view.tsx')).ResultsView }));
const PublishPanel = lazy(async () => ({ default: (await import('./publish-panel.tsx')).PublishPanel }));
const TryPanel = lazy(async () => ({ default: (await import('./try-panel.tsx')).TryPanel }));
const StatePanel = lazy(async () => ({ default: (await import('./state-panel.tsx')).StatePanel }));

const views = ['map', 'outline', 'settings', 'yaml', 'figures', 'results', 'publish'] as const;
type ViewName = (typeof views)[number];

interface WorkspaceProps {
  name: string;
  mayEdit: boolean;
  listed: ListedPrograms;
}

export function Workspace({ name, mayEdit, listed }: WorkspaceProps) {
  const version = useLocation().searchParams.get('version') ?? '';
  const draft = useOperatorQuery({
    queryKey: ['program-draft', name, version],
    // What is typed here is newer than what the service has.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    queryFn: async (): Promise<Draft> =>
      version
        ? { ...(await programApi.files(name, version)), revision: 0, updatedAt: null, updatedBy: null }
        : programApi.draft(name),
  });
  if (!draft.data) return <Waiting error={draft.error} />;
  // What comes with the service cannot be published, only shown.
  const isOwn = name !== 'palaver';
  return (
    <Opened
      // A discarded draft is not shown any more.
      key={`${version} ${draft.data.revision}`}
      name={name}
      listed={listed}
      version={version}
      loaded={draft.data}
      mayEdit={mayEdit && isOwn && version === ''}
    />
  );
}

function Opened({ name, version, loaded, mayEdit, listed }: WorkspaceProps & { version: string; loaded: Draft }) {
  const { searchParams } = useLocation();
  const view = toView(searchParams.get('view'));
  const selected = searchParams.get('state') ?? undefined;
  const [search, setSearch] = useState('');
  const [isTrying, setTrying] = useState(false);
  const [file, setFile] = useState('program.yaml');
  const [heat, setHeat] = useState<Heat | 'none'>('lost');
  const draft = useDraft(name, loaded);
  const { files, change } = draft;
  const model = readProgram(files);
  // The map and what differs may lag behind the field that is typed in.
  const later = useDeferredValue(files);
  const shown = readProgram(later);
  const settled = useSettled(files);
  const select = useCallback((state: string) => go({ state }), []);

  const inUse = useOperatorQuery({ queryKey: ['program-in-use', name], queryFn: () => loadInUse(name) });
  const report = useOperatorQuery({
    queryKey: ['program-check', name, settled.count],
    enabled: mayEdit,
    gcTime: 0,
    placeholderData: (before) => before,
    queryFn: () => programApi.check(name, settled.files),
  });
  const stats = useOperatorQuery({
    queryKey: ['program-stats', name, version],
    refetchInterval: 60_000,
    queryFn: () => programApi.stats(name, version ? { version } : {}),
  });
  const found = useMemo(() => findStates(shown, search), [shown, search]);
  const heatOf = useMemo(
    () => (heat === 'none' ? new Map<string, StateHeat>() : toHeat(stats.data, heat)),
    [stats.data, heat],
  );
  const problems = useMemo(() => [...(report.data?.faults ?? []), ...(report.data?.warnings ?? [])], [report.data]);
  const problemCounts = useMemo(() => {
    const byState = Map.groupBy(problems, ({ state = '' }) => state);
    return new Map(Array.from(byState, ([state, list]) => [state, list.length]));
  }, [problems]);
  const here = useMemo(() => problems.filter(({ state }) => state === selected), [problems, selected]);
  const diff = useMemo(() => diffPrograms(inUse.data ?? {}, later), [inUse.data, later]);
  const edited = useMemo(
    () => (inUse.data ? new Set([...diff.added, ...diff.changed]) : new Set<string>()),
    [diff, inUse.data],
  );

  const connect = useCallback(
    (from: string, to: string) => {
      change((before) => connectStates(before, readProgram(before), from, to));
      select(from);
    },
    [change, select],
  );
  const program = useMemo(
    () => ({ model, selected, select, change, mayEdit }),
    [model, selected, select, change, mayEdit],
  );
  const marks = { found, problems: problemCounts, heat: heatOf, edited };
  const outline = <Outline {...marks} />;
  const isProgramShown = view !== 'results';
  const isDrawn = view === 'map' || view === 'outline';
  const isShown = (name: ViewName) => mayEdit || (name !== 'publish' && name !== 'settings');
  return (
    <ProgramContext value={program}>
      <div className="workspace">
        <div className="workspace-bar">
          <ChoiceTabs
            label={t('programs.showAs')}
            chosen={view}
            choices={views.filter(isShown).map((key) => [key, t(`programs.${key}`)])}
            onChoose={(key) => go({ view: key })}
          />
          {isProgramShown && (
            <>
              <Search found={found} search={search} onSearch={setSearch} />
              {isDrawn && (
                <SelectField
                  label={t('programs.colourBy')}
                  value={heat}
                  onChange={setHeat}
                  options={[...heats, 'none' as const].map((key) => [key, t(`programs.heat-${key}`)])}
                />
              )}
              <VersionField name={name} version={version} />
              {mayEdit && isDrawn && <AddState />}
              {mayEdit && (
                <Button
                  text={t('programs.tryIt')}
                  icon="phone"
                  aria-pressed={isTrying}
                  onClick={() => setTrying(!isTrying)}
                />
              )}
              {mayEdit && <DraftBar name={name} draft={draft} />}
            </>
          )}
        </div>
        {isProgramShown && (
          <>
            <Problems problems={report.data?.faults ?? []} />
            <Problems isAdvice problems={report.data?.warnings ?? []} />
            {mayEdit && <LostAnswers model={shown} />}
          </>
        )}
        <div className="workspace-main">
          <div className="workspace-stage">
            <Suspense fallback={view === 'map' ? outline : <Waiting />}>
              {view === 'map' ? (
                <ProgramMap
                  {...marks}
                  model={shown}
                  selected={selected}
                  onSelect={select}
                  onConnect={mayEdit ? connect : undefined}
                />
              ) : view === 'outline' ? (
                outline
              ) : view === 'yaml' ? (
                <YamlView
                  files={files}
                  file={file in files ? file : 'program.yaml'}
                  problems={problems}
                  isReadOnly={!mayEdit}
                  onFile={setFile}
                  onChange={change}
                />
              ) : view === 'results' ? (
                <ResultsView program={name} model={inUse.data ? readProgram(inUse.data) : model} />
              ) : view === 'settings' && mayEdit ? (
                <SettingsView>
                  <ProgramActions name={name} draft={draft} programs={listed.programs} role={listed.role} />
                </SettingsView>
              ) : view === 'publish' && mayEdit ? (
                <PublishPanel
                  name={name}
                  code={model.codes[0]}
                  draft={draft}
                  diff={diff}
                  hasFaults={report.data?.ok === false}
                />
              ) : stats.data ? (
                <Figures stats={stats.data} />
              ) : (
                <p className="quiet">{stats.error?.message ?? t('app.loading')}</p>
              )}
            </Suspense>
          </div>
          {isProgramShown && isTrying && (
            <Suspense fallback={<Waiting />}>
              <TryPanel name={name} draft={draft} languages={model.languages} onState={select} />
            </Suspense>
          )}
          {isProgramShown && selected !== undefined && (
            <Suspense fallback={<Waiting />}>
              <StatePanel
                problems={here}
                isFollowed={!isTrying}
                counts={stats.data?.states.find(({ state }) => state === selected)}
              />
            </Suspense>
          )}
        </div>
      </div>
    </ProgramContext>
  );
}

function go(change: Record<string, string>): void {
  const next = new URLSearchParams(window.location.search);
  for (const [key, value] of Object.entries(change)) {
    if (value) next.set(key, value);
    else next.delete(key);
  }
  navigate(`/programs?${next}`);
}

async function loadInUse(name: string): Promise<ProgramFiles> {
  const { versions } = await programApi.versions(name);
  const current = versions.find(({ isCurrent }) => isCurrent);
  return current ? (await programApi.files(name, current.version)).files : {};
}

const settleMs = 400;

/** The files are checked once nobody has typed for a moment. The count distinguishes them. */
function useSettled(files: ProgramFiles): { files: ProgramFiles; count: number } {
  const [settled, setSettled] = useState({ files, count: 0 });
  useEffect(() => {
    const timer = setTimeout(
      () => setSettled((before) => (before.files === files ? before : { files, count: before.count + 1 })),
      settleMs,
    );
    return () => clearTimeout(timer);
  }, [files]);
  return settled;
}

function VersionField({ name, version }: { name: string; version: string }) {
  const versions = useOperatorQuery({ queryKey: ['program-versions', name], queryFn: () => programApi.versions(name) });
  return (
    <SelectField
      label={t('programs.version')}
      value={version}
      onChange={(value) => go({ version: value })}
      options={versions.data?.versions.map(({ version: id, usedAt, isCurrent }) => [
        id,
        [id.slice(id.indexOf('@') + 1), formatDay(usedAt), ...(isCurrent ? [t('programs.inUse')] : [])].join(' · '),
      ])}
    >
      <option value="">{t('programs.draftOrInUse')}</option>
    </SelectField>
  );
}

function Problems({ problems, isAdvice }: { problems: Problem[]; isAdvice?: boolean }) {
  const { select } = useProgram();
  if (problems.length === 0) return null;
  return (
    <details className={`notice problems ${isAdvice ? '' : 'notice-warn'}`}>
      <summary>{t(isAdvice ? 'programs.advice' : 'programs.problems', { count: problems.length })}</summary>
      <ul lang="en" dir="ltr">
        {problems.map(({ file, line, state, message }) => (
          <li key={`${file}:${line}:${message}`} title={`${file}:${line}`}>
            {state !== undefined && <TextButton text={state} onClick={select} />} {message}
          </li>
        ))}
      </ul>
    </details>
  );
}

function LostAnswers({ model }: { model: ProgramModel }) {
  const { change, select } = useProgram();
  return findLostAnswers(model).map((lost) => (
    <p key={lost.question} className="notice problems">
      <span>
        {t('programs.notKept')} <TextButton text={lost.question} onClick={select} />
      </span>{' '}
      <Button small onClick={() => change(() => keepLost(model.files, lost))}>
        {lost.record === undefined ? t('programs.keepNew') : t('programs.keepIn', { record: lost.record })}
      </Button>
    </p>
  ));
}

function toView(view: string | null): ViewName {
  const asked = views.find((name) => name === view);
  if (asked) return asked;
  return isNarrow() ? 'outline' : 'map';
}
