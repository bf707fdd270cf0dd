import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { readComment } from '../descriptors/comments.ts';
import { type JsonSchema, toDescription, toEnumSchema, toScalarSchema } from './schemas.ts';

export interface Parameter {
  name: string;
  in: 'path' | 'query';
  required?: boolean;
  description?: string;
  schema: JsonSchema;
}

const maxDepth = 3;
/** Messages that one text sets. */
const texts = /^google\.protobuf\.(?:Timestamp|Duration|FieldMask|\w+Value)$/;

/** What the query string may hold for a request message: its fields by dotted names, those bound in the path aside. */
export function listQueryParameters(input: DescMessage, bound: string[]): Parameter[] {
  const parameters: Parameter[] = [];
  const walk = (type: DescMessage, prefix: string, depth: number) => {
    for (const field of type.fields) {
      const name = prefix + field.name;
      if (bound.some((path) => name === path || name.startsWith(`${path}.`))) continue;
      const schema = toParameterSchema(field);
      if (schema) parameters.push({ name, in: 'query', ...toDescription(readComment(field)), schema });
      else if (field.fieldKind === 'message' && depth < maxDepth) walk(field.message, `${name}.`, depth + 1);
    }
  };
  walk(input, '', 1);
  return parameters;
}

function toParameterSchema(field: DescField): JsonSchema | undefined {
  if (field.fieldKind === 'message') return texts.test(field.message.typeName) ? { type: 'string' } : undefined;
  if (field.fieldKind === 'map') {
    return field.mapKind === 'message' ? undefined : { type: 'object', additionalProperties: toValueSchema(field) };
  }
  if (field.fieldKind === 'list')
    return field.listKind === 'message' ? undefined : { type: 'array', items: toValueSchema(field) };
  return toValueSchema(field);
}

function toValueSchema(field: DescField): JsonSchema {
  if (field.enum) return toEnumSchema(field.enum);
  return field.scalar === undefined ? {} : toScalarSchema(field.scalar);
}
