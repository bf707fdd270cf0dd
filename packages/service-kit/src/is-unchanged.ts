/** Whether `If-None-Match` names this ETag, in any of the forms of RFC 9110. */
export function isUnchanged(given: string | undefined, etag: string): boolean {
  if (given === undefined) return false;
  return given.split(',').some((tag) => {
    const bare = tag.trim();
    // A compressed form has the tag of the plain one with its encoding behind.
    return bare === '*' || bare.replace(/^W\//, '').replace(/-(?:br|gzip)"$/, '"') === etag;
  });
}
