/** Whether `If-None-Match` names this ETag, in any of the forms of RFC 9110. */
export function isUnchanged(given: string | undefined, etag: string): boolean {
  if (given === undefined) return false;
  return given.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
}
