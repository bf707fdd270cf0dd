/** Forbids browsers everything with a reply that is not a page. Pages set their own policy. */
export const browserHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  // A reply that may be kept says so itself.
  'cache-control': 'no-store',
};

/** For a page of API documentation: scripts of this server only. Swagger UI sets styles from script and has its icons in data URLs. */
export const docsPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
