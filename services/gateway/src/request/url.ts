type ParsedQuery = { ok: true; values: Map<string, string[]> } | { ok: false; message: string };

/** A query string as Go's `url.ParseQuery` reads it: keys in order of appearance, each with all its values. */
export function parseQuery(query: string): ParsedQuery {
  const values = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    if (pair.includes(';')) return { ok: false, message: 'invalid semicolon separator in query' };
    const equals = pair.indexOf('=');
    const key = unescapeText(equals === -1 ? pair : pair.slice(0, equals));
    const value = unescapeText(equals === -1 ? '' : pair.slice(equals + 1));
    if (key === undefined || value === undefined) return { ok: false, message: 'invalid URL escape in the query' };
    const known = values.get(key);
    if (known) known.push(value);
    else values.set(key, [value]);
  }
  return { ok: true, values };
}

function unescapeText(text: string): string | undefined {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  return spaced.includes('%') ? decodeEscapes(spaced) : spaced;
}

export function decodeEscapes(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The path without `//`, `/./` and `/../`, as Go's `path.Clean` with a trailing slash kept; the argument is decoded. */
export function cleanPath(path: string): string {
  // Nearly every path is clean already; the test costs less than putting it together again.
  if (!/\/\.{0,2}(?:\/|$)/.test(path)) return path;
  const kept: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  const clean = `/${kept.join('/')}`;
  return path.endsWith('/') && clean !== '/' ? `${clean}/` : clean;
}

/** Escapes a decoded path for a `Location` header, as Go's `url.URL` does. */
export function escapePath(path: string): string {
  return encodeURIComponent(path)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%(?:24|26|2B|2C|2F|3A|3B|3D|40)/g, decodeURIComponent);
}
