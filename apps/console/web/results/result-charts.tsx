import { useId } from 'react';
import { useOperatorQuery } from '../api/call-service.ts';
import { formatDay, formatNumber, formatPercent, t } from '../i18n/text.ts';
import { Waiting } from '../ui/content.tsx';
import { choiceLabel, countChoices, type Labels, questionLabel } from './labels.ts';
import { type DayCount, type Filter, type Question, resultsApi, type SetRef } from './results-api.ts';

interface ResultChartsProps {
  set: SetRef;
  filter: Filter;
  labels: Labels;
  onChoose(column: string, value: string): void;
}

export function ResultCharts({ set, filter, labels, onChoose }: ResultChartsProps) {
  const query = useOperatorQuery({
    queryKey: ['results', 'summary', set, filter],
    placeholderData: (before) => before,
    queryFn: () => resultsApi.summary(set, filter),
  });
  if (!query.data) return <Waiting error={query.error} />;
  const { count, days, questions, isPartial } = query.data;
  if (count === 0) return <p className="empty">{t('results.noMatch')}</p>;
  return (
    <>
      {isPartial && <p className="notice notice-warn">{t('results.partial')}</p>}
      <div className="result-charts">
        <ChartPanel title={t('results.byDay')} note={t('results.answers', { count })}>
          <Columns columns={fillDays(days).map(({ day, count }) => ({ label: formatDay(day), count }))} />
        </ChartPanel>
        {questions.filter(isAsked).map((question) => (
          <ChartPanel key={question.name} title={questionLabel(labels, question.name)} note={toNote(question)}>
            <QuestionChart question={question} labels={labels} onChoose={(value) => onChoose(question.name, value)} />
          </ChartPanel>
        ))}
      </div>
    </>
  );
}

/** Every form has an id, which nobody was asked for. */
const isAsked = ({ name }: Question) => name !== 'meta/instanceID';

function toNote(question: Question): string {
  const answers = question.answered === 0 ? t('results.noAnswers') : t('results.answers', { count: question.answered });
  if (question.kind !== 'numbers') return answers;
  return t('results.numbers', { answers, median: question.median, mean: question.mean });
}

function ChartPanel({ title, note, children }: { title: string; note: string; children: React.ReactNode }) {
  const heading = useId();
  return (
    <figure className="panel" aria-labelledby={heading}>
      <figcaption className="panel-head">
        <h2 id={heading}>{title}</h2>
        <span className="quiet small numbers">{note}</span>
      </figcaption>
      {children}
    </figure>
  );
}

interface QuestionProps {
  question: Question;
  labels: Labels;
  onChoose(value: string): void;
}

function QuestionChart({ question, labels, onChoose }: QuestionProps) {
  switch (question.kind) {
    case 'choices':
      return <Bars question={question} labels={labels} onChoose={onChoose} />;
    case 'numbers':
      return (
        <Columns
          columns={question.bins.map(({ from, to, count }) => ({
            label: from === to ? `${from}` : `${from}–${to}`,
            count,
          }))}
        />
      );
    case 'dates':
      return <Columns columns={fillDays(question.days).map(({ day, count }) => ({ label: formatDay(day), count }))} />;
    case 'texts':
      return <p className="quiet">{t('results.texts', { count: question.distinct })}</p>;
  }
}

function Bars({ question, labels, onChoose }: QuestionProps & { question: { kind: 'choices' } }) {
  const { name, answered, others } = question;
  const values = countChoices(labels, question);
  const bar = (value: string, count: number) => (
    <>
      <span className="bar-label">{value}</span>
      <svg className="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect className="bar-shown" width={(100 * count) / answered} height="4" />
      </svg>
      <span className="numbers bar-count">
        {formatNumber(count)} <span className="quiet">{formatPercent(count / answered)}</span>
      </span>
    </>
  );
  return (
    <ul className="bars">
      {values.map(({ value, count }) => (
        <li key={value}>
          <button
            type="button"
            disabled={!question.values.some((whole) => whole.value === value)}
            title={t('results.filterBy', {
              column: questionLabel(labels, name),
              value: choiceLabel(labels, name, value),
            })}
            onClick={() => onChoose(value)}
          >
            {bar(choiceLabel(labels, name, value), count)}
          </button>
        </li>
      ))}
      {others > 0 && <li className="bars-others">{bar(t('results.others'), others)}</li>}
      <li className="bar-scale small quiet numbers" aria-hidden="true">
        <span />
        <span>
          {[0, 0.5, 1].map((share) => (
            <span key={share}>{formatPercent(share)}</span>
          ))}
        </span>
        <span />
      </li>
    </ul>
  );
}

/** The figures are the picture's name, for those who cannot see it. */
function Columns({ columns }: { columns: { label: string; count: number }[] }) {
  const most = Math.max(1, ...columns.map(({ count }) => count));
  const width = 300 / columns.length;
  const thick = Math.min(Math.max(width * 0.8, 0.5), 24);
  const [first, last] = [columns[0], columns.at(-1)];
  const figures = columns.filter(({ count }) => count > 0).map(({ label, count }) => `${label}: ${count}`);
  return (
    <div className="columns" dir="ltr">
      <span className="small quiet numbers">{formatNumber(most)}</span>
      <svg viewBox="0 0 300 100" preserveAspectRatio="none" role="img" aria-label={figures.join(', ')}>
        {[0.5, 50, 99.5].map((y) => (
          <line key={y} className="grid-line" x1="0" x2="300" y1={y} y2={y} />
        ))}
        {columns.map(({ label, count }, i) => (
          <rect
            key={label}
            className="bar-shown"
            x={(i + 0.5) * width - thick / 2}
            y={100 - (100 * count) / most}
            width={thick}
            height={(100 * count) / most}
          >
            <title>{`${label}: ${count}`}</title>
          </rect>
        ))}
      </svg>
      <p className="columns-ends small quiet numbers" aria-hidden="true">
        <span>{first?.label}</span>
        {columns.length > 1 && <span>{last?.label}</span>}
      </p>
    </div>
  );
}

const maxDays = 400;
const dayMs = 24 * 3_600_000;

/** Adds the days without results, so that distances in the chart are times. */
function fillDays(days: DayCount[]): DayCount[] {
  const counts = new Map(days.map(({ day, count }) => [day, count]));
  const [first, last] = [Date.parse(days[0]?.day ?? ''), Date.parse(days.at(-1)?.day ?? '')];
  const length = (last - first) / dayMs + 1;
  if (!(length > 0 && length <= maxDays)) return days;
  return Array.from({ length }, (_, i) => {
    const day = new Date(first + i * dayMs).toISOString().slice(0, 10);
    return { day, count: counts.get(day) ?? 0 };
  });
}
