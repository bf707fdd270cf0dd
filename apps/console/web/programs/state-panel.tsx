import { memo, useEffect, useRef } from 'react';
import { formatNumber, t, useLocale } from '../i18n/text.ts';
import { isNarrow } from '../location.ts';
import { Facts, Panel } from '../ui/content.tsx';
import { TextButton } from '../ui/controls.tsx';
import { toPercent, toSeconds } from './heat.ts';
import { titleOf } from './kinds.ts';
import type { Counts, Problem } from './program-api.ts';
import { useProgram, useSelectedState } from './program-context.ts';
import { sayLink } from './read-program.ts';
import { StateEditor } from './state-editor.tsx';
import { previewScreens, ScreenUse } from './text-fields.tsx';

interface StatePanelProps {
  problems: Problem[];
  counts: Counts | undefined;
  /** Where the panel is below everything else, another state brings it into view. */
  isFollowed: boolean;
}

export const StatePanel = memo(function StatePanel({ problems, counts, isFollowed }: StatePanelProps) {
  const { model, selected = '', mayEdit } = useProgram();
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
          {mayEdit ? <StateEditor /> : <Texts />}
          <Ways />
          {counts && <Fare counts={counts} />}
          <p className="quiet small">{t('programs.place', { file: state.file, line: state.line })}</p>
        </>
      ) : (
        <p className="quiet">{t('programs.inheritedState')}</p>
      )}
    </Panel>
  );
});

function Texts() {
  const { model, state } = useSelectedState();
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

function Ways() {
  const { select } = useProgram();
  const { model, state } = useSelectedState();
  const from = [...model.states.values()].filter(({ links }) => links.some(({ to }) => to === state.name));
  return (
    <dl className="ways">
      {state.links.length > 0 && <dt>{t('programs.leadsTo')}</dt>}
      {state.links.map(({ to, label, path }) => (
        <dd key={path.join('.')}>
          <TextButton text={to} onClick={select} />
          {label && <span className="quiet small">{sayLink(model, label)}</span>}
        </dd>
      ))}
      {from.length > 0 && <dt>{t('programs.reachedFrom')}</dt>}
      {from.map(({ name }) => (
        <dd key={name}>
          <TextButton text={name} onClick={select} />
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
