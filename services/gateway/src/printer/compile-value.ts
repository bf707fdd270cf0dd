import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { type FieldRules, hasPresence, isDelimited, readFieldRules } from '../descriptors/options.ts';
import { findCustomType } from './custom-types.ts';
import type { Printing } from './message-printer.ts';
import {
  enumPrinter,
  scalarPrinters,
  stdDurationPrinter,
  stdTimestampPrinter,
  type ValuePrinter,
} from './scalar-printers.ts';
import { WireReader, wire } from './wire-reader.ts';

export interface FieldValue extends ValuePrinter {
  initial(): string;
  /** Prints the fields of a message in `pos..end`; set where a second occurrence adds to the first instead of replacing it. */
  printBody?: (reader: WireReader) => string;
}

const noRules: FieldRules = {
  nullable: true,
  customType: '',
  castType: '',
  stdTime: false,
  stdDuration: false,
  jsonTag: undefined,
};

export function compileValue(field: DescField, printing: Printing): FieldValue {
  const { message } = field;
  // Of maps, gogoproto's options concern the messages only.
  const isPlain = printing.proto3 || (field.fieldKind === 'map' && !message);
  const rules = isPlain ? noRules : readFieldRules(field);
  if (message) return compileMessageValue(field, message, { rules, printing });
  const value = compileScalar(field, rules, printing);
  // Without presence zero is written; with it (proto2) the reference has a nil pointer.
  return { ...value, initial: () => (hasPresence(field) ? 'null' : value.zero) };
}

/** A message inside another: nullable ones are null when unset, the others are printed whole. */
function compileMessageValue(
  field: DescField,
  message: DescMessage,
  { rules, printing }: { rules: FieldRules; printing: Printing },
): FieldValue {
  const std =
    rules.stdTime && message.typeName === 'google.protobuf.Timestamp'
      ? stdTimestampPrinter
      : rules.stdDuration && message.typeName === 'google.protobuf.Duration'
        ? stdDurationPrinter
        : undefined;
  if (std) return { ...std, initial: () => (rules.nullable ? 'null' : std.zero) };
  const printer = printing.find(message, 'field');
  const printBody = (reader: WireReader) => printer.print(reader, '{');
  const wireType = isDelimited(field) ? wire.startGroup : wire.bytes;
  return {
    wireType,
    zero: 'null',
    print: (reader) => reader.within(printBody, wireType),
    printBody,
    initial: () => (rules.nullable ? 'null' : printBody(new WireReader(new Uint8Array()))),
  };
}

function compileScalar(field: DescField, rules: FieldRules, { proto3 }: Printing): ValuePrinter {
  const custom = findCustomType(rules);
  if (custom) {
    return {
      wireType: wire.bytes,
      zero: rules.customType !== '' && rules.nullable ? 'null' : custom.zero,
      print(reader) {
        const start = reader.span();
        return custom.print(reader, start, reader.pos);
      },
    };
  }
  if (field.enum) return enumPrinter(field.enum, proto3);
  const value = scalarPrinters[field.scalar as ScalarType];
  // The reference prints bytes that are not there as null, but an entry of a map always has a value.
  return field.scalar === ScalarType.BYTES && (proto3 || field.fieldKind === 'map') ? { ...value, zero: '""' } : value;
}
