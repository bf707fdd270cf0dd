import { formatDay, formatNumber, t } from '../i18n/text.ts';
import { readForm } from '../results/labels.ts';
import { Table } from '../ui/content.tsx';
import { TextButton } from '../ui/controls.tsx';
import { lostOf, toPercent, toSeconds } from './heat.ts';
import type { ProgramStats } from './program-api.ts';
import { useProgram } from './program-context.ts';
import { orderStates, type ProgramModel } from './read-program.ts';

export function Figures({ stats }: { stats: ProgramStats }) {
  const sumOf = (name: 'calls' | 'returning' | 'texting') => stats.days.reduce((sum, day) => sum + day[name], 0);
  const calls = sumOf('calls');
  if (calls === 0)
    return <p className="empty">{t('programs.noCalls', { from: formatDay(stats.from), to: formatDay(stats.to) })}</p>;
  const screens = stats.languages.reduce((sum, { shown }) => sum + shown, 0);
  const heads = [
    [t('programs.calls'), formatNumber(calls)],
    [t('programs.ofReturning'), toPercent(sumOf('returning'), calls)],
    [t('programs.ofTexting'), toPercent(sumOf('texting'), calls)],
    ...stats.languages.map(({ language, shown }) => [t('programs.screensIn', { language }), toPercent(shown, screens)]),
  ];
  return (
    <div className="stack">
      <dl className="figures-head">
        {heads.map(([title, figure]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd className="numbers">{figure}</dd>
          </div>
        ))}
      </dl>
      <Funnel stats={stats} />
      <Days stats={stats} />
    </div>
  );
}

const columns = ['shown', 'answered', 'refused', 'back', 'exit', 'timedOut', 'lost', 'median'] as const;

function Funnel({ stats }: { stats: ProgramStats }) {
  const { model, selected, select } = useProgram();
  const counts = new Map(stats.states.map((state) => [state.state, state]));
  const questions = new Map(orderStates(model).flatMap((name) => listQuestions(model, name)));
  const order = orderStates(model).flatMap((name) => [
    name,
    ...[...questions.keys()].filter((key) => key.startsWith(`${name}/`)),
  ]);
  const rows = [...new Set([...order, ...counts.keys()])].flatMap((name) => counts.get(name) ?? []);
  const most = Math.max(1, ...rows.map(({ shown }) => shown));
  return (
    <Table
      className="funnel"
      label={t('programs.funnel')}
      heads={[t('programs.screen'), ...columns.map((column): [string] => [t(`programs.${column}`)])]}
    >
      {rows.map((row) => (
        <tr key={row.state} className={row.state === selected ? 'row-selected' : undefined}>
          <th scope="row">
            {row.state.includes('/') ? (
              <bdi className="funnel-question">{questions.get(row.state) ?? row.state}</bdi>
            ) : (
              <TextButton text={row.state} onClick={select} />
            )}
            <svg className="funnel-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
              <rect className="bar-shown" width={(100 * row.shown) / most} height="4" />
              <rect className="bar-lost" width={(100 * lostOf(row)) / most} height="4" />
            </svg>
          </th>
          {[row.shown, row.answered, row.refused, row.back, row.exited, row.timedOut].map((count, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a fixed list of columns
            <td key={i} className="number">
              {formatNumber(count)}
            </td>
          ))}
          <td className="number">{toPercent(lostOf(row), row.shown)}</td>
          <td className="number">{toSeconds(row.medianSeconds)}</td>
        </tr>
      ))}
    </Table>
  );
}

function listQuestions({ states, files }: ProgramModel, name: string): [string, string][] {
  const file = states.get(name)?.raw.form;
  const xml = typeof file === 'string' ? files[file] : undefined;
  if (xml === undefined) return [];
  const { root, questions } = readForm(xml);
  const asked = Array.from(questions, ([path, label]): [string, string] => [`${name}${root}${path}`, label]);
  return [...asked, [`${name}/`, t('programs.sendsForm')]];
}

function Days({ stats }: { stats: ProgramStats }) {
  const most = Math.max(1, ...stats.days.map(({ calls }) => calls));
  return (
    <Table
      className="days"
      label={t('programs.callsByDay')}
      heads={[t('programs.day'), [t('programs.calls')], [t('programs.returning')], [t('programs.screensTimedOut')], '']}
    >
      {stats.days.map(({ day, calls, returning, timedOut }) => (
        <tr key={day}>
          <th scope="row" className="numbers">
            {formatDay(day)}
          </th>
          <td className="number">{formatNumber(calls)}</td>
          <td className="number">{formatNumber(returning)}</td>
          <td className="number">{formatNumber(timedOut)}</td>
          <td className="day-bar">
            <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
              <rect className="bar-shown" width={(100 * calls) / most} height="8" />
              <rect className="bar-returning" width={(100 * returning) / most} height="8" />
            </svg>
          </td>
        </tr>
      ))}
    </Table>
  );
}
