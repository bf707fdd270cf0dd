import { OracleError, toOracleError } from './oracle-error.ts';
import type { MatrixSession } from './transport.ts';

/** A token that proves to third parties who the user is on their Matrix homeserver. */
export interface OpenIdToken {
  access_token: string;
  token_type: string;
  matrix_server_name: string;
  /** Seconds. */
  expires_in: number;
}

/** As the older library takes it: the homeserver is the part of the user's id after the colon. */
interface OlderSession {
  userId: string;
  matrixAccessToken: string;
  did?: string | undefined;
}

/** JavaScript callers leave arguments out; users without a Matrix session have empty ones. */
function toMatrixSession(session: Partial<MatrixSession & OlderSession> = {}): MatrixSession {
  const { userId = '', homeServer = userId.slice(userId.indexOf(':') + 1) } = session ?? {};
  const accessToken = session?.accessToken ?? session?.matrixAccessToken;
  if (homeServer && accessToken) return { homeServer, accessToken };
  const message =
    'getOpenIdToken needs a Matrix session: call it with { homeServer, accessToken } of the signed-in user.';
  throw new OracleError(message, { code: 'VALIDATION_FAILED' });
}

const renewMs = 30_000;
const timeoutMs = 15_000;

const minted = new Map<string, { token: Promise<OpenIdToken>; renewAt: number }>();

/** A Matrix OpenID token for the user of a session, by the client-server API; the same one until it is about to expire. */
export async function getOpenIdToken(session: MatrixSession | OlderSession): Promise<OpenIdToken> {
  const matrix = toMatrixSession(session);
  const now = Date.now();
  for (const [key, { renewAt }] of minted) if (renewAt <= now) minted.delete(key);
  const key = JSON.stringify([matrix.homeServer, matrix.accessToken]);
  const known = minted.get(key);
  if (known) return known.token;
  const fresh = { token: mint(matrix), renewAt: Number.POSITIVE_INFINITY };
  minted.set(key, fresh);
  try {
    const token = await fresh.token;
    fresh.renewAt = Date.now() + token.expires_in * 1000 - renewMs;
    return token;
  } catch (error) {
    minted.delete(key);
    throw error;
  }
}

async function mint({ homeServer, accessToken }: MatrixSession): Promise<OpenIdToken> {
  const base = `${/^https?:\/\//.test(homeServer) ? homeServer : `https://${homeServer}`}`.replace(/\/+$/, '');
  const ask = async <T>(path: string, init: RequestInit = {}): Promise<T> => {
    const response = await fetch(`${base}/_matrix/client/v3/${path}`, {
      ...init,
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (!response.ok) throw await toOracleError(response);
    return response.json() as Promise<T>;
  };
  const { user_id } = await ask<{ user_id: string }>('account/whoami');
  return ask<OpenIdToken>(`user/${encodeURIComponent(user_id)}/openid/request_token`, { method: 'POST', body: '{}' });
}
