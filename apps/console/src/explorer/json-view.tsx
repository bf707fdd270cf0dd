import { Fragment, useMemo } from 'react';

const largest = 200_000;
const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** JSON, indented and coloured; very large answers stay plain. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  const text = useMemo(() => (typeof value === 'string' ? value : JSON.stringify(value, null, 2)), [value]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <pre className="json" tabIndex={0} role="region" aria-label={label}>
      {text.length > largest ? text : colour(text)}
    </pre>
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
