import type { DescField, DescMessage, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence as Presence } from '@bufbuild/protobuf/wkt';
import { type FieldRules, readFieldRules } from '../descriptors/options.ts';
import { findCustomType } from './custom-types.ts';
import type { FindPrinter } from './message-printer.ts';
import { enumPrinter, scalarPrinter, type ValuePrinter } from './scalar-printers.ts';
import { stdDurationPrinter, stdTimestampPrinter } from './time-printers.ts';
import { WireReader, wire } from './wire-reader.ts';

/** A value of a field together with what the field prints when it is unset. */
export interface FieldValue extends ValuePrinter {
  initial(): string;
  /** Whether a second occurrence adds to the first instead of replacing it. */
  merges: boolean;
}

/** The value of a field, or of one element of a list. */
export function compileValue(field: DescField, find: FindPrinter): FieldValue {
  const rules = readFieldRules(field);
  const { message } = field;
  if (message) return compileMessageValue(message, rules, find);
  const value = compileScalar(field, rules);
  // Without presence zero is written; with it (proto2) the reference has a nil pointer.
  const explicit = field.presence === Presence.EXPLICIT || field.presence === Presence.LEGACY_REQUIRED;
  return { ...value, initial: () => (explicit ? 'null' : value.zero), merges: false };
}

/** A message inside another: nullable ones are null when unset, the others are printed whole. */
export function compileMessageValue(message: DescMessage, rules: FieldRules, find: FindPrinter): FieldValue {
  const std =
    rules.stdTime && message.typeName === 'google.protobuf.Timestamp'
      ? stdTimestampPrinter
      : rules.stdDuration && message.typeName === 'google.protobuf.Duration'
        ? stdDurationPrinter
        : undefined;
  if (std) return { ...std, initial: () => (rules.nullable ? 'null' : std.zero), merges: false };
  const printer = find(message, 'field');
  return {
    wireType: wire.bytes,
    zero: 'null',
    print: (reader) => reader.within(() => printer.print(reader, '{')),
    initial: () => (rules.nullable ? 'null' : printer.print(new WireReader(new Uint8Array()), '{')),
    merges: true,
  };
}

function compileScalar(field: DescField, rules: FieldRules): ValuePrinter {
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
  return field.enum ? enumPrinter(field.enum) : scalarPrinter(field.scalar as ScalarType);
}
