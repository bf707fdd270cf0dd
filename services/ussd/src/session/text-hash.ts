import { createHmac, createSecretKey, hash, hkdfSync } from 'node:crypto';

export interface TextHash {
  /** The hash of a text of a session; the empty text has none. */
  ofText(sessionId: string, text: string): string;
  /** The key of the `step`-th action that the last input of this text runs. */
  ofAction(sessionId: string, text: string, step: number): string;
}

/** The hashes of a session, by what it keeps: a session that began with an earlier kind ends with it. */
export type TextHashFor = (kept: string | undefined) => TextHash;

/** Precedes each hash of today's kind; the earlier kind had 22 characters and none. */
const mark = 'h';
const characters = 22;

/** Hashes under keys derived from the service's secret, so that a guess at a PIN cannot be tried against a stolen table. */
export function createTextHash(secret: Buffer): TextHashFor {
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'palaver ussd text, hmac', 32)));
  const hmac = (message: string) => createHmac('sha256', key).update(message).digest('base64url').slice(0, characters);
  const today = toTextHash((message) => `${mark}${hmac(message)}`);
  const earlier = toTextHash(createEarlierMac(secret));
  return (kept) => (kept?.length === characters ? earlier : today);
}

function toTextHash(mac: (message: string) => string): TextHash {
  return {
    ofText: (sessionId, text) => (text === '' ? '' : mac(`t\0${sessionId}\0${text}`)),
    ofAction: (sessionId, text, step) => mac(`e\0${sessionId}\0${step}\0${text}`),
  };
}

/** Two nested hashes with two keys. Sessions and results that were kept with it are gone after a day. */
function createEarlierMac(secret: Buffer): (message: string) => string {
  const deriveBlock = (label: string) => Buffer.from(hkdfSync('sha256', secret, '', label, 32)).toString('hex');
  const inner = deriveBlock('palaver ussd text, inner');
  const outer = deriveBlock('palaver ussd text, outer');
  return (message) => hash('sha256', outer + hash('sha256', inner + message, 'hex'), 'base64url').slice(0, characters);
}
