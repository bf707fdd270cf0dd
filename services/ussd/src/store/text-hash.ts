import { hash, hkdfSync } from 'node:crypto';

/** Keyed against guesses on a stolen table. SHA-512/256 cannot be extended, so a key in front replaces an HMAC. */
export function createTextHash(secret: Uint8Array) {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'palaver ussd text', 32)).toString('hex');
  const mac = (message: string) => hash('sha512-256', key + message, 'base64url').slice(0, 22);
  return {
    ofText: (sessionId: string, text: string) => (text === '' ? '' : mac(`t\0${sessionId}\0${text}`)),
    ofAction: (sessionId: string, inputs: readonly string[], step: number) =>
      mac(`e\0${sessionId}\0${step}\0${inputs.join('\0')}`),
    /** The id that the session of an erased caller is kept under: the telecom gateway's own may hold the number. */
    ofErased: (sessionId: string) => `erased ${mac(`g\0${sessionId}`)}`,
  };
}

export type TextHash = ReturnType<typeof createTextHash>;
