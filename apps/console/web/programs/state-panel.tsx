import { memo, useEffect, useRef } from 'react';
import { formatNumber } from '../i18n/format.ts';
import { t, useLocale } from '../i18n/text.ts';
import { isNarrow } from '../location.ts';
import { TextButton } from '../ui/button.tsx';
import { Facts, Panel } from '../ui/panel.tsx';
import type { ChangeFiles } from './edit-program.ts';
import { toPercent, toSeconds } from './heat.ts';
import { titleOf } from './kinds.ts';
import type { Counts, Problem } from './program-api.ts';
import { type ProgramModel, type ProgramState, sayLink } from './read-program.ts';
import { StateEditor } from './state-editor.tsx';
import { previewScreens, ScreenUse } from './text-fields.tsx';

interface StatePanelProps {
  model: ProgramModel;
  selected: string;
  onSelect(state: string): void;
  problems: Problem[];
  counts: Counts | undefined;
  /** Where the panel is below everything else, another state brings it into view. */
  isFollowed: boolean;
  /** Undefined if nothing can be changed. */
  onChange: ChangeFiles | undefined;
}

export const StatePanel = memo(function StatePanel(props: StatePanelProps) {
  const { model, selected, onSelect, problems, counts, isFollowed, onChange } = props;
  // A memoised component must be drawn again in another language.
  useLocale();
  const kind = useRef<HTMLSpanElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another state is the reason to scroll
  useEffect(() => {
    const panel = kind.current?.closest('section');
    panel?.scrollTo({ top: 0 });
    if (isFollowed && isNarrow()) panel?.scrollIntoView();
  }, [selected]);
  const state = model.states.get(selected);
  return (
    <Panel
      className="state-panel"
      title={selected}
      beside={
        <span ref={kind} className="badge">
          {titleOf(state?.kind ?? 'outside')}
        </span>
      }
    >
      {problems.map(({ file, line, message }) => (
        <p key={`${file}:${line}:${message}`} className="notice notice-danger small" lang="en" dir="ltr">
          {message}
        </p>
      ))}
      {state ? (
        <>
          {onChange ? (
            <StateEditor model={model} state={state} onChange={onChange} onSelect={onSelect} />
          ) : (
            <Texts model={model} state={state} />
          )}
          <Ways model={model} state={state} onSelect={onSelect} />
          {counts && <Fare counts={counts} />}
          <p className="quiet small">{t('programs.place', { file: state.file, line: state.line })}</p>
        </>
      ) : (
        <p className="quiet">{t('programs.inheritedState')}</p>
      )}
    </Panel>
  );
});

function Texts({ model, state }: { model: ProgramModel; state: ProgramState }) {
  const key = state.raw.text;
  if (typeof key !== 'string') return null;
  return (
    <div className="state-texts">
      {model.languages.map((language) => {
        const text = model.texts.get(language)?.get(key);
        const screens = previewScreens(model, state, language);
        return (
          <figure key={language}>
            <figcaption className="small">
              <span>{language}</span>
              <ScreenUse screens={screens} className="quiet" />
            </figcaption>
            <p className="screen-preview" lang={language} dir="auto">
              {text === undefined ? t('programs.missingText', { key }) : screens[0]}
            </p>
          </figure>
        );
      })}
    </div>
  );
}

function Ways({ model, state, onSelect }: { model: ProgramModel; state: ProgramState; onSelect(state: string): void }) {
  const from = [...model.states.values()].filter(({ links }) => links.some(({ to }) => to === state.name));
  return (
    <dl className="ways">
      {state.links.length > 0 && <dt>{t('programs.leadsTo')}</dt>}
      {state.links.map(({ to, label, path }) => (
        <dd key={path.join('.')}>
          <TextButton text={to} onClick={onSelect} />
          {label && <span className="quiet small">{sayLink(model, label)}</span>}
        </dd>
      ))}
      {from.length > 0 && <dt>{t('programs.reachedFrom')}</dt>}
      {from.map(({ name }) => (
        <dd key={name}>
          <TextButton text={name} onClick={onSelect} />
        </dd>
      ))}
    </dl>
  );
}

function Fare({ counts }: { counts: Counts }) {
  const { shown, answered, refused, back, exited, timedOut, medianSeconds } = counts;
  const rows: [string, string][] = [
    [t('programs.shown'), formatNumber(shown)],
    [t('programs.answered'), toPercent(answered, shown)],
    [t('programs.back'), toPercent(back, shown)],
    [t('programs.exit'), toPercent(exited, shown)],
    [t('programs.timedOut'), toPercent(timedOut, shown)],
    [t('programs.heat-refused'), toPercent(refused, refused + answered)],
    [t('programs.medianTime'), toSeconds(medianSeconds)],
  ];
  return <Facts className="fare" rows={rows} isNumeric />;
}
