import { randomInt } from 'node:crypto';
import { countSeptets, isGsm } from '@palaver/program/internal';
import smpp, { type Pdu } from 'smpp';

export interface EncodedPart {
  data_coding: number;
  esm_class?: number;
  short_message: Buffer;
}

const { encodings } = smpp;
const gsm = { data_coding: 0, alone: 160, inParts: 153, encode: (text: string) => encodings.ASCII.encode(text) };
const ucs2 = { data_coding: 8, alone: 70, inParts: 67, encode: (text: string) => encodings.UCS2.encode(text) };
const withHeader = 0x40;
/** A header counts parts with one byte. */
const maxParts = 255;

/** A text as the messages that carry it: GSM-7 where its characters allow it, UCS-2 elsewhere, with headers where it takes several. */
export function toMessages(text: string): EncodedPart[] {
  const coding = isGsm(text) ? gsm : ucs2;
  const { data_coding, encode } = coding;
  if (sizeOf(text) <= coding.alone) return [{ data_coding, short_message: encode(text) }];
  const parts: string[] = [''];
  let size = 0;
  for (const character of text) {
    const more = sizeOf(character);
    if (size + more > coding.inParts) {
      parts.push('');
      size = 0;
    }
    parts[parts.length - 1] += character;
    size += more;
  }
  const reference = randomInt(256);
  return parts.slice(0, maxParts).map((part, i) => ({
    data_coding,
    esm_class: withHeader,
    short_message: Buffer.concat([Buffer.from([5, 0, 3, reference, parts.length, i + 1]), encode(part)]),
  }));

  function sizeOf(piece: string): number {
    return (coding === gsm ? countSeptets(piece) : undefined) ?? piece.length;
  }
}

/** One screen of USSD, which is never sent in parts. */
export function toScreen(text: string): EncodedPart {
  const { data_coding, encode } = isGsm(text) ? gsm : ucs2;
  return { data_coding, short_message: encode(text) };
}

/** What was typed or written. USSD has other numbers for its alphabets: 15 is GSM-7, 72 is UCS-2. */
export function readText({ short_message, message_payload }: Pick<Pdu, 'short_message' | 'message_payload'>): string {
  const { message = '' } = short_message?.message?.length ? short_message : (message_payload ?? {});
  return typeof message === 'string' ? message : encodings.ASCII.decode(message);
}

export type MessagePart = NonNullable<ReturnType<typeof readPart>>;

/** Which part of a long text it is, from 1, by fields of its own or by its header, whose reference has one byte or two. */
export function readPart(pdu: Pick<Pdu, 'short_message' | (typeof partFields)[number]>) {
  const fields = partFields.map((name) => pdu[name]);
  const headers = (pdu.short_message?.udh ?? []).flatMap((header) => {
    const length = referenceBytes[header[0] ?? -1];
    if (length === undefined || header.length !== 4 + length) return [];
    return [[header.readUIntBE(2, length), header[2 + length], header[3 + length]]];
  });
  const [reference, total = 0, number = 0] = fields.includes(undefined) ? (headers[0] ?? []) : fields;
  return reference === undefined || total < 2 ? undefined : { reference, total, number };
}

const partFields = ['sar_msg_ref_num', 'sar_total_segments', 'sar_segment_seqnum'] as const;
/** By the kind of header. */
const referenceBytes: Record<number, number> = { 0: 1, 8: 2 };

/** Type and plan of an address: a number with its country, a short code, or a name. */
export function toAddress(address: string): { addr: string; ton: number; npi: number } {
  if (/^\+\d+$/.test(address)) return { addr: address.slice(1), ton: 1, npi: 1 };
  return /^[\d*#]+$/.test(address) ? { addr: address, ton: 3, npi: 1 } : { addr: address, ton: 5, npi: 0 };
}
