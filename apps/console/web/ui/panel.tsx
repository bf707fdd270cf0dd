import { type ReactNode, useId } from 'react';

interface PanelProps {
  title: string;
  level?: 2 | 3;
  beside?: ReactNode;
  /** Shown in place of the content. */
  empty?: string | false;
  className?: string;
  children?: ReactNode;
}

export function Panel({ title, level = 2, beside, empty, className, children }: PanelProps) {
  const heading = useId();
  const Title = `h${level}` as const;
  return (
    <section className={className ? `panel ${className}` : 'panel'} aria-labelledby={heading}>
      {beside === undefined ? (
        <Title id={heading}>{title}</Title>
      ) : (
        <div className="panel-head">
          <Title id={heading}>{title}</Title>
          {beside}
        </div>
      )}
      {empty ? <p className="empty">{empty}</p> : children}
    </section>
  );
}

interface FactsProps {
  rows: readonly (readonly [name: string, value: ReactNode])[];
  className?: string;
  dir?: 'auto';
  isNumeric?: boolean;
}

export function Facts({ rows, className, dir, isNumeric }: FactsProps) {
  return (
    <dl className={className ? `facts ${className}` : 'facts'}>
      {rows.map(([name, value]) => (
        <div key={name} className="facts-row">
          <dt>{name}</dt>
          <dd dir={dir} className={isNumeric ? 'numbers' : undefined}>
            {value}
          </dd>
        </div>
      ))}
    </dl>
  );
}
