import { createHash } from 'node:crypto';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** The content id (CIDv1, raw, SHA-256) of a text, as the protocol names claims. */
export function toClaimId(content: string): string {
  const digest = createHash('sha256').update(content).digest();
  const bits = [0x01, 0x55, 0x12, 0x20, ...digest].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const letters = bits.match(/.{1,5}/g) ?? [];
  return `b${letters.map((part) => alphabet[Number.parseInt(part.padEnd(5, '0'), 2)]).join('')}`;
}

/** The same content for another id, where another agent has submitted a claim under the first one. It is the same at every retry. */
export function renewContent(content: string, takenId: string): string {
  return JSON.stringify({ ...(JSON.parse(content) as object), retryOf: takenId });
}
