import { type Refusal, refuseArgument } from '../refusal.ts';
import type { Row } from '../world/table.ts';
import type { Answer } from './query.ts';

export interface PageRequest {
  key: Uint8Array;
  offset: bigint;
  limit: bigint;
  countTotal: boolean;
  reverse: boolean;
}

export interface Paged {
  pagination?: PageRequest | undefined;
}

export interface Page<T> {
  ok: true;
  values: T[];
  pagination: { nextKey: Uint8Array; total: bigint };
}

const defaultLimit = 100n;

/** One page of a table by the rules of the Cosmos SDK, whose clients this node is for. */
export function paginate<T>(rows: readonly Row<T>[], request: PageRequest | undefined): Page<T> | Refusal {
  const { key = new Uint8Array(), offset = 0n, limit = 0n, countTotal = false, reverse = false } = request ?? {};
  if (offset > 0n && key.length > 0) {
    return refuseArgument('invalid request, either offset or key is expected, got both');
  }
  const walk = reverse ? rows.toReversed() : rows;
  const start = key.length > 0 ? findStart(walk, key, reverse) : toIndex(offset, walk.length);
  const end = toIndex(BigInt(start) + (limit || defaultLimit), walk.length);
  // Who asks for no limit gets the total unasked; who continues by key has had it on the first page.
  const counted = key.length === 0 && (countTotal || limit === 0n);
  return {
    ok: true,
    values: walk.slice(start, end).map(({ value }) => value),
    pagination: { nextKey: walk[end]?.key ?? new Uint8Array(), total: counted ? BigInt(walk.length) : 0n },
  };
}

/** The answer of a list method: the page's values in `field`, and its `pagination`. */
export function answerPage<T>(field: string, page: Page<T> | Refusal): Answer {
  if (!page.ok) return page;
  return { ok: true, response: { [field]: page.values, pagination: page.pagination } };
}

/** A key that is gone still marks a place: the walk continues at the next higher one, in reverse too. */
function findStart<T>(walk: readonly Row<T>[], key: Uint8Array, reverse: boolean): number {
  if (!reverse) {
    const index = walk.findIndex((row) => Buffer.compare(row.key, key) >= 0);
    return index < 0 ? walk.length : index;
  }
  return Math.max(
    0,
    walk.findLastIndex((row) => Buffer.compare(row.key, key) >= 0),
  );
}

function toIndex(position: bigint, length: number): number {
  return position > BigInt(length) ? length : Number(position);
}
