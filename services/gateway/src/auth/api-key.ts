import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { AppError } from '@palaver/contract';
import { type ApiKey, apiKeyFileSchema, type MinuteCount } from '@palaver/contract/internal';
import { StartError } from '@palaver/service-kit';
import { type CountInMinute, countInMemory, nameCaller } from '@palaver/service-kit/internal';
import type { GatewayMetrics } from '../metrics.ts';
import { type Authorize, type Authorized, refuse } from './authorize.ts';

/** Reads the file of keys; a fault stops the start with one message. */
export async function loadApiKeys(path: string): Promise<ApiKey[]> {
  const fault = (what: string, cause?: unknown) => new StartError(`GATEWAY_API_KEYS_FILE: ${path} ${what}`, { cause });
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw fault('cannot be read', error);
  });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw fault('is not JSON', error);
  }
  const parsed = apiKeyFileSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path: at, message }) => `${at.join('.') || 'the list'}: ${message}`);
  throw fault(`is not valid: ${faults.join('; ')}`);
}

/** `X-Api-Key`. Keys are found by their hash, so that the time of a comparison reveals nothing about them. */
export function authorizeApiKey(keys: ApiKey[], countInMinute: CountInMinute = countInMemory()): Authorize {
  const byHash = new Map(keys.map((key) => [key.sha256.toLowerCase(), key]));
  return (request, path) => {
    const given = request.headers['x-api-key'];
    const key = typeof given === 'string' ? byHash.get(hash('sha256', given)) : undefined;
    if (!key) {
      const message =
        given === undefined ? 'This gateway asks for an API key in X-Api-Key.' : 'The API key is not known.';
      return refuse(new AppError('UNAUTHORIZED', message), { 'www-authenticate': 'ApiKey' });
    }
    if (key.routes && !key.routes.some((route) => isBelow(path, route)))
      return refuse(new AppError('FORBIDDEN', 'This API key is not allowed on this route.'));
    if (key.perMinute === undefined) return { ok: true, identity: key.name };
    const counted = countInMinute(key.name, key.perMinute);
    return counted instanceof Promise
      ? counted.then((standing) => decideByCount(key, standing))
      : decideByCount(key, counted);
  };
}

function decideByCount({ name, perMinute = 0 }: ApiKey, counted: MinuteCount | undefined): Authorized {
  if (!counted || counted.count <= perMinute) return { ok: true, identity: name };
  const seconds = Math.ceil(counted.leftMs / 1000);
  const message = `More than ${perMinute} requests in a minute; try again in ${seconds} s.`;
  return refuse(new AppError('RATE_LIMITED', message), { 'retry-after': String(seconds) });
}

/** Counts requests by the name of their key and puts it on the log line. */
export function nameKeys(authorize: Authorize, metrics: Pick<GatewayMetrics, 'countKey'>): Authorize {
  return (request, path) => {
    const note = (authorized: Authorized) => {
      if (authorized.ok) {
        metrics.countKey(authorized.identity);
        nameCaller(request.raw, authorized.identity);
      }
      return authorized;
    };
    const deciding = authorize(request, path);
    return 'then' in deciding ? deciding.then(note) : note(deciding);
  };
}

/** `/ixo/entity` covers itself and what lies below; so do `/ixo/entity/` and `/ixo/entity/*`. */
function isBelow(path: string, route: string): boolean {
  const base = route.replace(/\/\*{0,2}$/, '');
  return path === base || path.startsWith(`${base}/`);
}
