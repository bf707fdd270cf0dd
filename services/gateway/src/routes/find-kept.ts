import type { FindReady } from '@palaver/service-kit/internal';
import { type Answer, etagOf } from '../answer.ts';
import { type ContentEncoding, chooseEncoding, findCompressed, toEncodedTag } from '../compress.ts';
import type { LiveTable } from '../live-table.ts';
import { readMetadata } from '../metadata.ts';
import { ageOf, type CallParts, toCacheKey } from './query-call.ts';

/** The route of queries, as metrics name it. */
export const queryRoute = '/*';

type Hit = NonNullable<Answer['hit']>;

/** Finds replies to plain requests for answers that are kept; requests that need more than a look into the cache go the usual way. */
export function createFindKept(parts: Omit<CallParts, 'ask'> & { live: LiveTable }): FindReady {
  const { live, cache, floors, metrics, options } = parts;
  return ({ method, url = '', headers, socket }) => {
    const snapshot = live.current();
    if (!snapshot || method !== 'GET' || headers['if-none-match'] !== undefined) return undefined;
    const metadata = readMetadata(headers, options);
    if (!metadata.ok || metadata.hasCredentials) return undefined;
    const answer = cache.find(toCacheKey(snapshot, url, metadata));
    if (!answer?.hit) return undefined;
    const { template, isLatest } = answer.hit;
    const isBehind = answer.height !== undefined && answer.height < Math.max(metadata.minHeight, floors.of(socket));
    const encoding = chooseEncoding(headers['accept-encoding'], answer.body);
    const body = encoding ? findCompressed(answer.body, encoding) : answer.body;
    if (!body || (isLatest && isBehind)) return undefined;
    metrics.countRequest(template, 'hit', answer.grpcCode);
    if (isLatest) floors.raise(socket, answer.height);
    const fixed = headersOf(answer, answer.hit, encoding);
    const own = [...fixed, 'content-length', String(body.length), 'age', String(ageOf(answer))];
    return { route: queryRoute, status: answer.status, headers: own, body };
  };
}

const made = new WeakMap<Hit, Map<ContentEncoding | undefined, string[]>>();

/** Names and values in turn, made once for each form of a kept answer. */
function headersOf(answer: Answer, hit: Hit, encoding: ContentEncoding | undefined): string[] {
  const forms = made.get(hit) ?? new Map<ContentEncoding | undefined, string[]>();
  made.set(hit, forms);
  const known = forms.get(encoding);
  if (known) return known;
  const etag = etagOf(answer);
  const all = {
    ...hit.headers,
    ...(etag !== '' && { etag: encoding ? toEncodedTag(etag, encoding) : etag }),
    ...(encoding && { 'content-encoding': encoding }),
  };
  const headers = Object.entries(all).flatMap(([name, value]) =>
    [value].flat().flatMap((one) => [name.toLowerCase(), one]),
  );
  forms.set(encoding, headers);
  return headers;
}
