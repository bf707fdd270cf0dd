import { type DescEnum, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { readComment } from '../descriptors/comments.ts';
import { readFieldRules } from '../descriptors/options.ts';
import { findCustomType } from '../printer/custom-types.ts';

export type JsonSchema = Record<string, unknown>;

const long = { type: 'string', format: 'int64', pattern: '^-?[0-9]+$' };
const unsignedLong = { type: 'string', format: 'uint64', pattern: '^[0-9]+$' };
const scalars: Record<ScalarType, JsonSchema> = {
  [ScalarType.DOUBLE]: { type: ['number', 'string'], format: 'double' },
  [ScalarType.FLOAT]: { type: ['number', 'string'], format: 'float' },
  [ScalarType.INT64]: long,
  [ScalarType.UINT64]: unsignedLong,
  [ScalarType.INT32]: { type: 'integer', format: 'int32' },
  [ScalarType.FIXED64]: unsignedLong,
  [ScalarType.FIXED32]: { type: 'integer', format: 'int64' },
  [ScalarType.BOOL]: { type: 'boolean' },
  [ScalarType.STRING]: { type: 'string' },
  [ScalarType.BYTES]: { type: ['string', 'null'], contentEncoding: 'base64' },
  [ScalarType.UINT32]: { type: 'integer', format: 'int64' },
  [ScalarType.SFIXED32]: { type: 'integer', format: 'int32' },
  [ScalarType.SFIXED64]: long,
  [ScalarType.SINT32]: { type: 'integer', format: 'int32' },
  [ScalarType.SINT64]: long,
};

const wellKnown: Record<string, JsonSchema> = {
  'google.protobuf.Timestamp': { type: 'string', format: 'date-time' },
  'google.protobuf.Duration': { type: 'string', examples: ['3.5s'] },
  'google.protobuf.Any': {
    type: 'object',
    properties: { '@type': { type: 'string' } },
    required: ['@type'],
    additionalProperties: true,
  },
  'google.protobuf.Struct': { type: 'object', additionalProperties: true },
  'google.protobuf.ListValue': { type: 'array' },
  'google.protobuf.Value': {},
  'google.protobuf.BoolValue': { type: 'boolean' },
  'google.protobuf.StringValue': { type: 'string' },
  'google.protobuf.BytesValue': { type: ['string', 'null'], contentEncoding: 'base64' },
  'google.protobuf.Int32Value': { type: 'integer' },
  'google.protobuf.UInt32Value': { type: 'integer' },
  'google.protobuf.Int64Value': long,
  'google.protobuf.UInt64Value': unsignedLong,
  'google.protobuf.FloatValue': { type: ['number', 'string'] },
  'google.protobuf.DoubleValue': { type: ['number', 'string'] },
};

export function toScalarSchema(type: ScalarType): JsonSchema {
  return scalars[type];
}

export function toEnumSchema(type: DescEnum): JsonSchema {
  if (type.typeName === 'google.protobuf.NullValue') return { type: 'null' };
  return { type: 'string', enum: [...new Set(type.values.map(({ name }) => name))] };
}

/** What a declaration's comment adds to a schema, a parameter or an operation. */
export function toDescription(comment: string): { description?: string } {
  return comment === '' ? {} : { description: comment };
}

/** Schemas of the JSON that messages print as, each message once under its own name. */
export function createSchemaSet() {
  const components: Record<string, JsonSchema> = {};

  const ofMessage = (type: DescMessage): JsonSchema => {
    const known = wellKnown[type.typeName];
    if (known) return known;
    if (!components[type.typeName]) {
      const component: JsonSchema = { type: 'object', ...toDescription(readComment(type)) };
      components[type.typeName] = component; // first the place, then the contents: types may contain themselves
      component.properties = Object.fromEntries(
        type.fields.map((field) => [field.name, { ...ofField(field), ...toDescription(readComment(field)) }]),
      );
      // Only members of a oneof are left out when they are unset.
      const required = type.fields.filter((field) => !field.oneof && !field.proto.proto3Optional);
      if (required.length > 0) component.required = required.map(({ name }) => name);
    }
    return { $ref: `#/components/schemas/${type.typeName}` };
  };

  const ofValue = (field: DescField): JsonSchema => {
    if (field.message) return ofMessage(field.message);
    if (field.enum) return toEnumSchema(field.enum);
    const custom = findCustomType(readFieldRules(field));
    // JSON in a bytes field may be anything.
    if (custom) return custom.zero === 'null' ? {} : { type: 'string' };
    return field.scalar === undefined ? {} : toScalarSchema(field.scalar);
  };

  const ofField = (field: DescField): JsonSchema => {
    if (field.fieldKind === 'list') return { type: 'array', items: ofValue(field) };
    if (field.fieldKind === 'map') return { type: 'object', additionalProperties: ofValue(field) };
    const { nullable, customType } = readFieldRules(field);
    const isNullable = nullable && !field.oneof && (field.fieldKind === 'message' || customType !== '');
    return isNullable ? { anyOf: [ofValue(field), { type: 'null' }] } : ofValue(field);
  };

  return { ofMessage, ofField, all: () => components };
}
