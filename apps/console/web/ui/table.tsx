import { Fragment, type ReactNode, useMemo } from 'react';
import { t } from '../i18n/text.ts';
import { Button } from './button.tsx';

interface TableProps {
  label: string;
  /** A column of numbers is `[head]`; without a head it is ''. */
  heads: readonly (string | [string])[];
  className?: string;
  children: ReactNode;
}

export function Table({ label, heads, className, children }: TableProps) {
  return (
    <ScrollRegion label={label}>
      <table className={className}>
        <thead>
          <tr>
            {heads.map((head) =>
              head === '' ? (
                <td key="" />
              ) : (
                <th key={String(head)} scope="col" className={typeof head === 'string' ? undefined : 'number'}>
                  {head}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </ScrollRegion>
  );
}

/** Takes focus, so that it can be scrolled by keyboard. */
function ScrollRegion({ label, children }: { label: string; children: ReactNode }) {
  return (
    // A group: as a landmark it would have the name of the panel around it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls
    <div role="group" className="table-wrap" tabIndex={0} aria-label={label}>
      {children}
    </div>
  );
}

interface PagerProps {
  label: string;
  place?: string;
  onPrevious: (() => void) | undefined;
  onNext: (() => void) | undefined;
}

export function Pager({ label, place, onPrevious, onNext }: PagerProps) {
  return (
    <nav className="pager" aria-label={label}>
      <Button disabled={!onPrevious} onClick={onPrevious}>
        {t('app.previous')}
      </Button>
      {place && <span className="numbers">{place}</span>}
      <Button disabled={!onNext} onClick={onNext}>
        {t('app.next')}
      </Button>
    </nav>
  );
}

const largest = 200_000;
const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Very large answers stay plain. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  const text = useMemo(() => (typeof value === 'string' ? value : JSON.stringify(value, null, 2)), [value]);
  return (
    <ScrollRegion label={label}>
      <pre className="json">{text.length > largest ? text : colour(text)}</pre>
    </ScrollRegion>
  );
}

function colour(text: string) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(token)) {
    const [whole, string, colon, word] = match;
    const kind = string ? (colon ? 'json-key' : 'json-string') : word ? 'json-word' : 'json-number';
    parts.push(
      <Fragment key={match.index}>
        {text.slice(end, match.index)}
        <span className={kind}>{whole}</span>
      </Fragment>,
    );
    end = match.index + whole.length;
  }
  parts.push(text.slice(end));
  return parts;
}
