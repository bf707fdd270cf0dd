import { type KeyboardEvent, type PointerEvent, useId, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from '../ui/button.tsx';

export interface Series {
  name: string;
  /** Which of the stylesheet's series colours. */
  series: number;
  values: (number | undefined)[];
}

interface ChartProps {
  title: string;
  series: Series[];
  /** When each value was measured, in milliseconds. */
  times: number[];
  format(value: number): string;
  formatAxis(time: number): string;
  /** Shows a stretch of the time more closely. */
  onZoom?: ((since: number, until: number) => void) | undefined;
}

const width = 300;
const height = 100;
const steps: Record<string, number> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/**
 * Lines over time. The legend has the values at the time that is pointed at, or that the arrow keys have chosen, else the
 * latest ones. A stretch that is drawn over with the pointer is zoomed in on.
 */
export function Chart({ title, series, times, format, formatAxis, onZoom }: ChartProps) {
  const heading = useId();
  const [at, setAt] = useState<number>();
  const [from, setFrom] = useState<number>();
  const last = times.length - 1;
  const shown = at === undefined ? undefined : Math.min(at, last);
  const top = toRound(Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0))));
  const isEmpty = series.every(({ values }) => values.every((value) => value === undefined));
  const toIndex = ({ currentTarget, clientX }: PointerEvent) => {
    const { left, width: whole } = currentTarget.getBoundingClientRect();
    return Math.round(Math.min(Math.max((clientX - left) / whole, 0), 1) * last);
  };
  const toX = (index: number) => (last > 0 ? (index / last) * width : width);
  const figures = series.map(({ name, values }) => [name, toFigure(values, shown, format)] as const);

  function zoom(one: number, other: number): void {
    const [since, until] = [times[Math.min(one, other)], times[Math.max(one, other)]];
    if (since !== undefined && until !== undefined && until > since) onZoom?.(since, until);
  }
  function press(event: KeyboardEvent): void {
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    setAt(Math.min(Math.max((shown ?? last) + step, 0), last));
  }
  return (
    <figure className="panel chart" aria-labelledby={heading}>
      <figcaption className="panel-head">
        <h2 id={heading}>{title}</h2>
        <span className="quiet small numbers">{shown === undefined ? '' : formatAxis(times[shown] ?? 0)}</span>
        {onZoom && shown !== undefined && (
          <Button small onClick={() => zoom(Math.max(shown - 6, 0), Math.min(shown + 6, last))}>
            {t('history.zoom')}
          </Button>
        )}
      </figcaption>
      <div
        className="plot"
        dir="ltr"
        role="slider"
        tabIndex={0}
        aria-label={t('history.valuesOf', { title })}
        aria-valuemin={0}
        aria-valuemax={Math.max(last, 0)}
        aria-valuenow={shown ?? Math.max(last, 0)}
        aria-valuetext={[formatAxis(times[shown ?? last] ?? 0), ...figures.map((pair) => pair.join(' '))].join(', ')}
        onKeyDown={press}
        onPointerMove={(event) => setAt(toIndex(event))}
        onPointerLeave={() => {
          setAt(undefined);
          setFrom(undefined);
        }}
        onPointerDown={(event) => setFrom(toIndex(event))}
        onPointerUp={(event) => {
          if (from !== undefined) zoom(from, toIndex(event));
          setFrom(undefined);
        }}
      >
        <span className="plot-top numbers">{isEmpty ? t('operations.firstFigures') : format(top)}</span>
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
          {[0, 0.5, 1].map((share) => (
            <line key={share} className="grid-line" x1="0" x2={width} y1={height * share} y2={height * share} />
          ))}
          {onZoom && from !== undefined && shown !== undefined && (
            <rect
              className="plot-chosen"
              x={toX(Math.min(from, shown))}
              width={Math.abs(toX(from) - toX(shown))}
              height={height}
            />
          )}
          {series.map(({ name, series: colour, values }) => (
            <path key={name} className={`line line-${colour}`} d={toPath(values, top)} />
          ))}
          {shown !== undefined && <line className="plot-cursor" x1={toX(shown)} x2={toX(shown)} y1="0" y2={height} />}
        </svg>
        <p className="plot-axis small quiet numbers" aria-hidden="true">
          {[0, 0.5, 1].map((share) => (
            <span key={share}>{last > 0 && formatAxis(times[Math.round(share * last)] ?? 0)}</span>
          ))}
        </p>
      </div>
      <ul className="legend">
        {figures.map(([name, figure], index) => (
          <li key={name}>
            <i className={`swatch swatch-${series[index]?.series}`} />
            {name} <span className="numbers quiet">{figure}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}

function toFigure(values: (number | undefined)[], at: number | undefined, format: (value: number) => string): string {
  const value = at === undefined ? values.findLast((other) => other !== undefined) : values[at];
  return value === undefined ? '–' : format(value);
}

/** A path over the whole width that breaks where there is no value; a single value is a dot (`h0`). */
export function toPath(values: (number | undefined)[], top: number): string {
  let isDrawing = false;
  return values
    .flatMap((value, index) => {
      if (value === undefined) {
        isDrawing = false;
        return [];
      }
      const isFirst = !isDrawing;
      isDrawing = true;
      const x = values.length > 1 ? (index / (values.length - 1)) * width : width;
      const y = top === 0 ? height : height - (value / top) * height;
      const point = `${x.toFixed(1)} ${y.toFixed(1)}`;
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
