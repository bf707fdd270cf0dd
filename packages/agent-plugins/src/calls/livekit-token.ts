import { createHmac } from 'node:crypto';

export interface LiveKitKey {
  apiKey: string;
  apiSecret: string;
}

export interface LiveKitClaims {
  /** Who joins. */
  identity?: string;
  /** What the others are shown for it. */
  name?: string;
  metadata?: string;
  video: { room?: string; roomJoin?: boolean; roomCreate?: boolean };
}

/** An access token as LiveKit reads it: a JWT signed by HMAC-SHA256. */
export function createLiveKitToken(
  { apiKey, apiSecret }: LiveKitKey,
  { identity, name, metadata, video }: LiveKitClaims,
  lifetimeSeconds: number,
): string {
  const now = Math.floor(Date.now() / 1000);
  const payload = { iss: apiKey, sub: identity, name, nbf: now - 30, exp: now + lifetimeSeconds, metadata, video };
  const unsigned = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(payload)}`;
  return `${unsigned}.${createHmac('sha256', apiSecret).update(unsigned).digest('base64url')}`;
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
