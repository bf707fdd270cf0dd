// Header fields as HTTP/2 compresses them (RFC 7541). What the node sends is decoded in full; what the gateway sends uses
// only the table that both ends know, so that no state is shared and every block can be made beforehand.
import { codeLengths, staticTable } from './hpack-tables.ts';

/** Bytes that are not a header block: the connection cannot be used any more. */
export class HpackError extends Error {}

/** Names and values alternating. */
export type Fields = string[];

/** Bytes of names and values that one block may unfold to. */
const maxFieldBytes = 256 * 1024;
/** What an entry of the table counts beside its texts. */
const entryOverhead = 32;
const tableSize = 4096;

export class HpackDecoder {
  /** Entries of this connection, the newest last. */
  private readonly entries: [name: string, value: string][] = [];
  private size = 0;
  private maxSize = tableSize;
  private block: Buffer = Buffer.alloc(0);
  private at = 0;

  decode(block: Buffer): Fields {
    this.block = block;
    this.at = 0;
    const fields: Fields = [];
    let bytes = 0;
    while (this.at < block.length) {
      const first = block[this.at] ?? 0;
      if ((first & 0xe0) === 0x20) {
        if (fields.length > 0) throw new HpackError('a table size in the middle of a block');
        this.resize(this.integer(5));
        continue;
      }
      const [name, value] = first & 0x80 ? this.find(this.integer(7)) : this.literal(first);
      bytes += name.length + value.length;
      if (bytes > maxFieldBytes) throw new HpackError('too many header fields');
      fields.push(name, value);
    }
    return fields;
  }

  private literal(first: number): [string, string] {
    const isKept = (first & 0xc0) === 0x40;
    const index = this.integer(isKept ? 6 : 4);
    const name = index === 0 ? this.text() : this.find(index)[0];
    const field: [string, string] = [name, this.text()];
    if (isKept) this.keep(field);
    return field;
  }

  private find(index: number): [string, string] {
    const entry =
      index <= staticTable.length
        ? staticTable[index - 1]
        : this.entries[this.entries.length - (index - staticTable.length)];
    if (!entry) throw new HpackError('an index beyond the table');
    return entry;
  }

  private keep(field: [string, string]): void {
    this.entries.push(field);
    this.size += sizeOf(field);
    this.evict();
  }

  private resize(size: number): void {
    if (size > tableSize) throw new HpackError('a table larger than was offered');
    this.maxSize = size;
    this.evict();
  }

  private evict(): void {
    while (this.size > this.maxSize) this.size -= sizeOf(this.entries.shift() ?? ['', '']);
  }

  private integer(prefixBits: number): number {
    const limit = (1 << prefixBits) - 1;
    let value = this.byte() & limit;
    if (value < limit) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      const next = this.byte();
      value += (next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
    throw new HpackError('a number that is too large');
  }

  private text(): string {
    const isCoded = ((this.block[this.at] ?? 0) & 0x80) !== 0;
    const length = this.integer(7);
    const end = this.at + length;
    if (end > this.block.length) throw new HpackError('a text that is cut');
    const bytes = this.block.subarray(this.at, end);
    this.at = end;
    return isCoded ? decodeHuffman(bytes) : bytes.toString('latin1');
  }

  private byte(): number {
    const value = this.block[this.at];
    if (value === undefined) throw new HpackError('a block that is cut');
    this.at += 1;
    return value;
  }
}

function sizeOf([name, value]: [string, string]): number {
  return name.length + value.length + entryOverhead;
}

/** A tree of two branches: numbers from 0 on lead to further nodes, negative ones are the bytes, one less than their negative. */
const tree = buildTree();
const endOfText = 256;

function buildTree(): number[][] {
  const nodes: number[][] = [[0, 0]];
  const byLength = codeLengths.map((length, symbol) => ({ length, symbol }));
  byLength.sort((a, b) => a.length - b.length || a.symbol - b.symbol);
  let code = 0;
  let last = 0;
  for (const { length, symbol } of byLength) {
    code <<= length - last;
    last = length;
    let node = 0;
    for (let bit = length - 1; bit > 0; bit -= 1) {
      const branch = (code >>> bit) & 1;
      const row = nodes[node] as number[];
      if (!row[branch]) row[branch] = nodes.push([0, 0]) - 1;
      node = row[branch] as number;
    }
    (nodes[node] as number[])[code & 1] = -symbol - 1;
    code += 1;
  }
  return nodes;
}

function decodeHuffman(bytes: Buffer): string {
  let text = '';
  let node = 0;
  /** Bits since the last byte, and whether all of them were ones: the end is filled up with ones, fewer than eight. */
  let depth = 0;
  let isPadding = true;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit -= 1) {
      const branch = (byte >>> bit) & 1;
      const next = tree[node]?.[branch] ?? 0;
      depth += 1;
      isPadding &&= branch === 1;
      if (next >= 0) {
        node = next;
        continue;
      }
      if (-next - 1 === endOfText) throw new HpackError('an end inside a text');
      text += String.fromCharCode(-next - 1);
      node = 0;
      depth = 0;
      isPadding = true;
    }
  }
  if (depth > 7 || !isPadding) throw new HpackError('a text with a wrong end');
  return text;
}

const staticNames = new Map(staticTable.map(([name], index) => [name, index + 1]).toReversed() as [string, number][]);
const staticFields = new Map(staticTable.map(([name, value], index) => [`${name}\n${value}`, index + 1]));

/** A block that says the same on every connection. */
export function encodeFields(fields: Fields): Buffer {
  const parts: Buffer[] = [];
  for (let index = 0; index < fields.length; index += 2) {
    const [name = '', value = ''] = [fields[index], fields[index + 1]];
    const known = value === '' ? undefined : staticFields.get(`${name}\n${value}`);
    if (known !== undefined) {
      parts.push(encodeInteger(known, 7, 0x80));
      continue;
    }
    const nameIndex = staticNames.get(name) ?? 0;
    parts.push(encodeInteger(nameIndex, 4, 0));
    if (nameIndex === 0) parts.push(encodeText(name));
    parts.push(encodeText(value));
  }
  return Buffer.concat(parts);
}

function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([encodeInteger(bytes.length, 7, 0), bytes]);
}

function encodeInteger(value: number, prefixBits: number, flags: number): Buffer {
  const limit = (1 << prefixBits) - 1;
  if (value < limit) return Buffer.from([flags | value]);
  const bytes = [flags | limit];
  let rest = value - limit;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}
