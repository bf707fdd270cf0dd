import { createPrivateKey, createPublicKey, hash, sign, verify } from 'node:crypto';
import type * as web from '../web/crypto.ts';

// node:crypto answers at once: WebCrypto's detour over the thread pool costs more than the signature itself.
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');

export const createKeyPair: typeof web.createKeyPair = async (seed) => {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' });
  return {
    publicKey: new Uint8Array(spki.subarray(spkiPrefix.length)),
    sign: (payload) => new Uint8Array(sign(null, payload, key)),
  };
};

export function verifyEd25519({ publicKey, payload, signature }: web.SignatureCheck): boolean {
  const key = Buffer.concat([spkiPrefix, publicKey]);
  return verify(null, payload, { key, format: 'der', type: 'spki' }, signature);
}

export const sha256: typeof web.sha256 = (bytes) => hash('sha256', bytes, 'buffer');

export const hashText: typeof web.hashText = (text) => hash('sha256', text, 'base64');
