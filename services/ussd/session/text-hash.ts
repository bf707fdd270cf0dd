import { createHmac, createSecretKey, hkdfSync } from 'node:crypto';

export interface TextHash {
  /** Stands for a text of a session. The empty text, which says nothing, stands for itself. */
  ofText(sessionId: string, text: string): string;
  /** The key of the `step`-th effect that the last input of this text brought about. */
  ofEffect(sessionId: string, text: string, step: number): string;
}

/** Hashes under a key derived from the service's secret, so that a guess at a PIN cannot be tried against a stolen table. */
export function createTextHash(secret: Buffer): TextHash {
  // As a key object: with the bare bytes Node takes ten times as long.
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'palaver ussd text', 32)));
  const hash = (message: string) => createHmac('sha256', key).update(message).digest('base64url').slice(0, 22);
  return {
    ofText: (sessionId, text) => (text === '' ? '' : hash(`t\0${sessionId}\0${text}`)),
    ofEffect: (sessionId, text, step) => hash(`e\0${sessionId}\0${step}\0${text}`),
  };
}
