import { concat, toUtf8 } from './bytes.ts';

/** A link to a block: its CID in bytes. */
export class Link {
  readonly cid: Uint8Array;
  constructor(cid: Uint8Array) {
    this.cid = cid;
  }
}

export type Data =
  | string
  | number
  | boolean
  | null
  | Uint8Array
  | Link
  | readonly Data[]
  | { readonly [name: string]: Data };

/** DAG-CBOR, as much of it as tokens need: integers, no floats. */
export function encodeCbor(value: Data): Uint8Array {
  if (value === null) return Uint8Array.of(0xf6);
  if (typeof value === 'boolean') return Uint8Array.of(value ? 0xf5 : 0xf4);
  if (typeof value === 'number') return encodeInteger(value);
  if (typeof value === 'string') return withHead(3, toUtf8(value));
  if (value instanceof Uint8Array) return withHead(2, value);
  if (value instanceof Link) return concat([0xd8, 42], withHead(2, concat([0], value.cid)));
  if (isList(value)) return concat(head(4, value.length), ...value.map(encodeCbor));
  const entries = Object.entries(value)
    .map(([name, entry]) => [toUtf8(name), entry] as const)
    .toSorted(([a], [b]) => a.length - b.length || compare(a, b));
  return concat(head(5, entries.length), ...entries.flatMap(([name, entry]) => [withHead(3, name), encodeCbor(entry)]));
}

function encodeInteger(value: number): Uint8Array {
  if (!Number.isSafeInteger(value)) throw new RangeError('a token holds integers only');
  return value < 0 ? head(1, -1 - value) : head(0, value);
}

const withHead = (kind: number, bytes: Uint8Array) => concat(head(kind, bytes.length), bytes);

/** Kind and length, in the shortest form. */
function head(kind: number, value: number): Uint8Array {
  const first = kind << 5;
  if (value < 24) return Uint8Array.of(first | value);
  const size = value < 0x100 ? 1 : value < 0x1_0000 ? 2 : value < 0x1_0000_0000 ? 4 : 8;
  const bytes = new Uint8Array(1 + size);
  bytes[0] = first | (24 + Math.log2(size));
  for (let at = size, rest = value; at > 0; at -= 1, rest = Math.floor(rest / 256)) bytes[at] = rest % 256;
  return bytes;
}

// `Array.isArray` does not narrow to readonly arrays.
const isList = (value: Data): value is readonly Data[] => Array.isArray(value);

function compare(a: Uint8Array, b: Uint8Array): number {
  const at = a.findIndex((byte, index) => byte !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}
