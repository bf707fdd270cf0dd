// Messages whose Go type prints itself with encoding/json instead of jsonpb: fields go by their JSON tags, zero values with
// `omitempty` are left out, 64-bit integers are numbers, times have as many digits as they need, empty lists are null.
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { readFieldRules } from '../descriptors/options.ts';
import { compileValue } from './compile-value.ts';
import { refuseWireType } from './field-readers.ts';
import type { MessagePrinter, Printing } from './message-printer.ts';
import { scalarPrinters } from './scalar-printers.ts';
import { WireReader, wire } from './wire-reader.ts';

// Cosmos SDK types with `MarshalJSON` on the value: it is used in fields, not at the top of an answer or in an `Any`.
const selfPrinting = new Set([
  'cosmos.staking.v1beta1.DelegationResponse',
  'cosmos.staking.v1beta1.RedelegationResponse',
]);

export function printsItself({ typeName }: DescMessage): boolean {
  return selfPrinting.has(typeName);
}

interface GoField {
  name: string;
  omitEmpty: boolean;
  isList: boolean;
  wireType: number;
  zero(): string;
  print(reader: WireReader): string;
}

export function compileGoJson(type: DescMessage, printing: Printing): MessagePrinter {
  const fields = new Map(type.fields.map((field) => [field.number, compileGoField(field, printing)]));
  const print = (reader: WireReader, head: string) => {
    const values = new Map<GoField, string[]>();
    while (reader.pos < reader.end) {
      const tag = reader.tag();
      const field = fields.get(tag >>> 3);
      if (!field) {
        reader.skip(tag);
        continue;
      }
      const known = values.get(field) ?? [];
      values.set(field, known);
      readValues(reader, field, { given: tag & 7, into: known });
    }
    let json = head;
    for (const field of fields.values()) {
      const text = printField(field, values.get(field) ?? []);
      if (text !== undefined) json += `${json.length > 1 ? ',' : ''}${field.name}${text}`;
    }
    return `${json}}`;
  };
  return { print, wellKnown: false };
}

function compileGoField(field: DescField, printing: Printing): GoField {
  const { message } = field;
  const { nullable, customType, jsonTag } = readFieldRules(field);
  const isList = field.fieldKind === 'list';
  // gogoproto's generator writes `omitempty` but for what cannot be nil.
  const tag = jsonTag ?? (nullable || (isList && !message && !customType) ? `${field.name},omitempty` : field.name);
  const [name = '', ...options] = tag.split(',');
  const value = compileValue(field, printing);
  const nested =
    message && message.file.proto.package !== 'google.protobuf' ? compileGoJson(message, printing) : undefined;
  return {
    name: `${JSON.stringify(name || field.name)}:`,
    omitEmpty: options.includes('omitempty'),
    isList,
    wireType: value.wireType,
    zero: () =>
      nested && !nullable ? nested.print(new WireReader(new Uint8Array()), '{') : toGoText(field, value.initial()),
    print: (reader) => (nested ? reader.within(() => nested.print(reader, '{')) : toGoText(field, value.print(reader))),
  };
}

function readValues(
  reader: WireReader,
  { isList, wireType, print }: GoField,
  { given, into }: { given: number; into: string[] },
): void {
  if (given === wireType) {
    into.push(print(reader));
    return;
  }
  if (!isList || given !== wire.bytes) refuseWireType(given, wireType);
  reader.within(() => {
    while (reader.pos < reader.end) into.push(print(reader));
  });
}

const emptyTexts = new Set(['0', '""', 'false', 'null']);

function printField({ isList, omitEmpty, zero }: GoField, values: string[]): string | undefined {
  if (isList) return values.length > 0 ? `[${values.join()}]` : omitEmpty ? undefined : 'null';
  const text = values.at(-1) ?? zero();
  return omitEmpty && emptyTexts.has(text) ? undefined : text;
}

/** What jsonpb prints of a single value as encoding/json prints it. */
function toGoText(field: DescField, text: string): string {
  // 64-bit values come quoted.
  if (field.scalar && scalarPrinters[field.scalar].zero === '"0"') return text.replaceAll('"', '');
  if (field.message?.typeName !== 'google.protobuf.Timestamp') return text;
  // As many digits as are needed: `.120` is `.12`.
  return text.replace(/(\.\d*?)0+Z"$/, (_match, digits: string) => `${digits === '.' ? '' : digits}Z"`);
}
