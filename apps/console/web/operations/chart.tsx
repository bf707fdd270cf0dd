import { useId } from 'react';
import { t } from '../i18n/text.ts';

export interface Series {
  name: string;
  /** Which of the stylesheet's series colours. */
  series: number;
  values: (number | undefined)[];
}

interface ChartProps {
  title: string;
  /** What stretch of time the width is. */
  period: string;
  series: Series[];
  /** How many points fill the width. */
  points: number;
  format(value: number): string;
}

const width = 300;
const height = 100;

/** Lines over time, the newest at the right edge. The legend has the current values, for those who cannot see lines. */
export function Chart({ title, period, series, points, format }: ChartProps) {
  const heading = useId();
  const largest = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const top = toRound(largest);
  const isEmpty = series.every(({ values }) => values.every((value) => value === undefined));
  return (
    <figure className="panel chart" aria-labelledby={heading}>
      <figcaption className="panel-head">
        <h2 id={heading}>{title}</h2>
        <span className="quiet small">{period}</span>
      </figcaption>
      <div className="plot">
        <span className="plot-top numbers">{isEmpty ? t('operations.firstFigures') : format(top)}</span>
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
          {[0, 0.5, 1].map((share) => (
            <line key={share} className="grid-line" x1="0" x2={width} y1={height * share} y2={height * share} />
          ))}
          {series.map(({ name, series: colour, values }) => (
            <path key={name} className={`line line-${colour}`} d={toPath(values, points, top)} />
          ))}
        </svg>
      </div>
      <ul className="legend">
        {series.map(({ name, series: colour, values }) => (
          <li key={name}>
            <i className={`swatch swatch-${colour}`} />
            {name} <span className="numbers quiet">{toFigure(values, format)}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}

function toFigure(values: (number | undefined)[], format: (value: number) => string): string {
  const latest = values.findLast((value) => value !== undefined);
  return latest === undefined ? '–' : format(latest);
}

/** A path that breaks where there is no value; a single value is a dot (`h0`). */
export function toPath(values: (number | undefined)[], points: number, top: number): string {
  const step = width / Math.max(points - 1, 1);
  const start = width - (values.length - 1) * step;
  let isDrawing = false;
  return values
    .flatMap((value, index) => {
      if (value === undefined) {
        isDrawing = false;
        return [];
      }
      const isFirst = !isDrawing;
      isDrawing = true;
      const y = top === 0 ? height : height - (value / top) * height;
      const point = `${(start + index * step).toFixed(1)} ${y.toFixed(1)}`;
      return isFirst ? `M${point}h0` : `L${point}`;
    })
    .join('');
}

/** The next of 1, 2, 5, 10, 20, 50 … above a value, so that the scale does not change with every point. */
export function toRound(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}
