import { type ReactNode, useId } from 'react';

interface PanelProps {
  title: string;
  /** Beside the title. */
  beside?: ReactNode;
  /** Shown in place of the content. */
  empty?: string | false;
  className?: string;
  children?: ReactNode;
}

/** A part of a view with a title. */
export function Panel({ title, beside, empty, className, children }: PanelProps) {
  const heading = useId();
  return (
    <section className={className ? `panel ${className}` : 'panel'} aria-labelledby={heading}>
      {beside === undefined ? (
        <h2 id={heading}>{title}</h2>
      ) : (
        <div className="panel-head">
          <h2 id={heading}>{title}</h2>
          {beside}
        </div>
      )}
      {empty ? <p className="empty">{empty}</p> : children}
    </section>
  );
}

/** Names with their values; `dir` is that of the values. */
export function Facts({ rows, dir }: { rows: readonly (readonly [name: string, value: ReactNode])[]; dir?: 'auto' }) {
  return (
    <dl className="facts">
      {rows.map(([name, value]) => (
        <div key={name} className="facts-row">
          <dt>{name}</dt>
          <dd dir={dir}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
