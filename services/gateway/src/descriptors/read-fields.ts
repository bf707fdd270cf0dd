import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** One field of a message: a number or bytes, by how it is on the wire. */
export interface WireField {
  no: number;
  number?: number;
  bytes: Buffer;
}

const none = Buffer.alloc(0);

/** The varints and length-delimited fields of a message, for the few messages that are read without their descriptors. Throws for other bytes. */
export function readFields(message: Uint8Array): WireField[] {
  const reader = new BinaryReader(message);
  const fields: WireField[] = [];
  while (reader.pos < reader.len) {
    const [no, wireType] = reader.tag();
    if (wireType === WireType.Varint) fields.push({ no, number: Number(reader.int64()), bytes: none });
    else if (wireType === WireType.LengthDelimited) fields.push({ no, bytes: Buffer.from(reader.bytes()) });
    else reader.skip(wireType, no);
  }
  return fields;
}
