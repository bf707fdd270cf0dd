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
