// Go types that gogoproto puts in place of a field's own (`customtype`, `casttype`) and that print themselves.
import { compactJson } from './json-text.ts';
import { WireError, type WireReader } from './wire-reader.ts';

export interface CustomType {
  zero: string;
  print(reader: WireReader, start: number, end: number): string;
  /** The bytes on the wire of a JSON value; throws for a value that is not of this type. */
  parse(json: unknown): Buffer;
}

const integerText = /^[+-]?(?:0|[1-9]\d*)$/;
const decimals = 18;

const integer: CustomType = {
  zero: '"0"',
  print: (...span) => `"${readInteger(span, 256)}"`,
  parse: (json) => parseText(json, integerText),
};
const unsigned: CustomType = {
  zero: '"0"',
  print(...span) {
    const digits = readInteger(span, 256);
    if (digits.startsWith('-')) throw new WireError('a negative unsigned integer');
    return `"${digits}"`;
  },
  parse: (json) => parseText(json, /^\d+$/),
};
/** The wire holds the decimal times 10^18, as the digits of an integer. */
const decimal: CustomType = {
  zero: '"0"',
  print(reader, start, end) {
    if (start === end) return '"0"';
    const text = readInteger([reader, start, end], 315);
    const sign = text.startsWith('-') ? '-' : '';
    const digits = text.slice(sign.length).padStart(decimals + 1, '0');
    return `"${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}"`;
  },
  parse(json) {
    const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,18}))?$/.exec(String(json)) ?? [];
    if (whole === '') throw new Error(`not a decimal: ${String(json).slice(0, 40)}`);
    return Buffer.from(String(BigInt(`${sign}${whole}${fraction.padEnd(decimals, '0')}`)));
  },
};
const hexBytes: CustomType = {
  zero: '""',
  print: (reader, start, end) => `"${reader.bytes.toString('hex', start, end).toUpperCase()}"`,
  parse(json) {
    if (!/^(?:[0-9a-f]{2})*$/i.test(String(json))) throw new Error('not hexadecimal');
    return Buffer.from(String(json), 'hex');
  },
};

/** JSON in a bytes field, printed as it is but for white space. */
const rawJson: CustomType = {
  zero: 'null',
  print: (reader, start, end) => (start === end ? 'null' : compactJson(reader.bytes.toString('utf8', start, end))),
  parse: (json) => Buffer.from(JSON.stringify(json)),
};

const castTypes = new Map<string, CustomType>([
  ['bytes.HexBytes', hexBytes],
  ['RawContractMessage', rawJson],
  ['types.RawContractMessage', rawJson],
  ['json.RawMessage', rawJson],
]);

const customTypes = new Map<string, CustomType>([
  ['math.Int', integer],
  ['types.Int', integer],
  ['math.Uint', unsigned],
  ['types.Uint', unsigned],
  ['math.LegacyDec', decimal],
  ['math.Dec', decimal],
  ['types.Dec', decimal],
]);

export function findCustomType(rules: { customType: string; castType: string }): CustomType | undefined {
  // "cosmossdk.io/math.Int": only the package's last element and the type's name matter.
  return castTypes.get(lastElement(rules.castType)) ?? customTypes.get(lastElement(rules.customType));
}

function lastElement(goType: string): string {
  return goType.slice(goType.lastIndexOf('/') + 1);
}

function parseText(json: unknown, pattern: RegExp): Buffer {
  if (!pattern.test(String(json))) throw new Error(`not an integer: ${String(json).slice(0, 40)}`);
  return Buffer.from(String(json));
}

function readInteger([reader, start, end]: [WireReader, number, number], maxBits: number): string {
  if (start === end) return '0';
  const text = reader.text.slice(start, end);
  if (!integerText.test(text)) throw new WireError('not an integer');
  // A bigint of millions of digits takes seconds, so it is made only where the digits (0.3 per bit) do not decide.
  if (text.length > maxBits) throw new WireError('integer out of range');
  if (text.length > maxBits * 0.3 && BigInt(text.replace(/^[+-]/, '')).toString(2).length > maxBits)
    throw new WireError('integer out of range');
  return text === '-0' || text === '+0' ? '0' : text.replace('+', '');
}
