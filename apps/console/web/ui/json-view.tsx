import { Fragment, useMemo } from 'react';
import { ScrollRegion } from './scroll-region.tsx';

const largest = 200_000;
const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** JSON, indented and coloured; very large answers stay plain. */
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
