import type { FindReady } from '@palaver/service-kit/internal';
import { isUnchanged } from '@palaver/service-kit/internal';
import { type Answer, etagOf } from '../answer.ts';
import { type ContentEncoding, chooseEncoding, findCompressed, toEncodedTag } from '../compress.ts';
import type { LiveTable } from '../live-table.ts';
import { readMetadata } from '../metadata.ts';
import type { Admit } from './admit.ts';
import { ageOf, type CallParts, toCacheKey } from './query-call.ts';

/** The route of queries, as metrics name it. */
export const queryRoute = '/*';

type Hit = NonNullable<Answer['hit']>;

export interface FindKeptParts extends Omit<CallParts, 'ask'> {
  live: LiveTable;
  admit: Admit;
}

/**
 * Finds replies to plain requests for answers that are kept; requests that need more than a look into the cache go the usual
 * way. So do errors, which the server lists. Nothing is counted before the reply is certain to be ready.
 */
export function createFindKept({ live, cache, floors, metrics, options, admit }: FindKeptParts): FindReady {
  return (request) => {
    const { method, url = '', headers, socket } = request;
    const snapshot = live.current();
    if (!snapshot || method !== 'GET') return undefined;
    const metadata = readMetadata(headers, options);
    if (!metadata.ok || metadata.hasCredentials) return undefined;
    const answer = cache.find(toCacheKey(snapshot, url, metadata));
    if (!answer?.hit || answer.grpcCode !== 0) return undefined;
    const { path, template, isLatest } = answer.hit;
    const isBehind = answer.height !== undefined && answer.height < Math.max(metadata.minHeight, floors.of(socket));
    const form = findForm(answer, headers['accept-encoding'], headers['if-none-match']);
    if (!form || (isLatest && isBehind)) return undefined;
    const added = admit(request, path);
    if (!added) return undefined;
    metrics.countRequest(template, 'hit', answer.grpcCode);
    floors.raise(socket, answer.height, isLatest);
    const { status, body, encoding } = form;
    const own = [...headersOf(answer, answer.hit, encoding), ...added, 'age', String(ageOf(answer))];
    if (body) own.push('content-length', String(body.length));
    if (body && encoding) own.push('content-encoding', encoding);
    return { route: queryRoute, status, headers: own, body };
  };
}

interface Form {
  status: number;
  encoding: ContentEncoding | undefined;
  body: Buffer | undefined;
}

/** What is sent of an answer; undefined while its compressed form is not made. */
function findForm(answer: Answer, accepted: string | undefined, wanted: string | undefined): Form | undefined {
  const encoding = chooseEncoding(accepted, answer.body);
  if (wanted !== undefined && isUnchanged(wanted, etagOf(answer))) return { status: 304, encoding, body: undefined };
  const body = encoding ? findCompressed(answer.body, encoding) : answer.body;
  return body && { status: answer.status, encoding, body };
}

const made = new WeakMap<Hit, Map<ContentEncoding | undefined, string[]>>();

/** Names and values alternating, made once for each form of a kept answer. */
function headersOf(answer: Answer, hit: Hit, encoding: ContentEncoding | undefined): string[] {
  const forms = made.get(hit) ?? new Map<ContentEncoding | undefined, string[]>();
  made.set(hit, forms);
  const known = forms.get(encoding);
  if (known) return known;
  const etag = etagOf(answer);
  const all = { ...hit.headers, etag: encoding ? toEncodedTag(etag, encoding) : etag };
  const headers = Object.entries(all).flatMap(([name, value]) =>
    [value].flat().flatMap((one) => [name.toLowerCase(), one]),
  );
  forms.set(encoding, headers);
  return headers;
}
