import { hkdfSync } from 'node:crypto';

/** A key of the agent's own secret for one purpose, so that there is one secret to keep. */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `palaver agent ${purpose}`, 32));
}
