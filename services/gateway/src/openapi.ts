import { type DescEnum, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { gatewayErrorBodySchema, heightHeader } from '@palaver/contract/internal';
import { z } from 'zod';
import { readFieldRules } from './descriptors/options.ts';
import { readComment } from './descriptors/schema.ts';
import { findCustomType } from './printer/custom-types.ts';
import type { Route, RouteTable, Segment } from './route-table.ts';

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

function toEnumSchema(type: DescEnum): JsonSchema {
  if (type.typeName === 'google.protobuf.NullValue') return { type: 'null' };
  return { type: 'string', enum: [...new Set(type.values.map(({ name }) => name))] };
}

function toDescription(comment: string): { description?: string } {
  return comment === '' ? {} : { description: comment };
}

function createSchemaSet() {
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
    return field.scalar === undefined ? {} : scalars[field.scalar];
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

interface Parameter {
  name: string;
  in: 'path' | 'query';
  required?: boolean;
  description?: string;
  schema: JsonSchema;
}

const maxDepth = 3;
/** Messages that one text sets. */
const texts = /^google\.protobuf\.(?:Timestamp|Duration|FieldMask|\w+Value)$/;

/** What the query string may set of a request message: its fields by dotted names, except those bound in the path. */
function listQueryParameters(input: DescMessage, bound: string[]): Parameter[] {
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
  return field.scalar === undefined ? {} : scalars[field.scalar];
}

const errorName = 'GatewayError';

/** The routes as an OpenAPI 3.1 document. Legacy routes are left out: they exist for earlier clients. */
export function toOpenApi({ routes }: RouteTable) {
  const schemas = createSchemaSet();
  const paths: Record<string, { get: Operation }> = {};
  const byHierarchy = new Map<string, Operation>();
  const seen = new Set<string>();
  const operationIds = new Map<string, number>();
  for (const route of routes) {
    const shape = `${spell(route.pattern.segments)}:${route.pattern.verb}`;
    // Two templates that differ in their variables' names only are one path; the first is the one that answers.
    if (route.legacy || seen.has(shape)) continue;
    seen.add(shape);
    // OpenAPI has no patterns inside braces: `{x=a/*}` becomes `{x}`, described in words.
    const path = route.template.replace(/\{([^=}]+)=[^}]*\}/g, '{$1}');
    const name = `${route.method.parent.typeName}.${route.method.name}`;
    const count = (operationIds.get(name) ?? 0) + 1;
    operationIds.set(name, count);
    const operationId = count === 1 ? name : `${name}.${count}`;
    const operation = toOperation(route, { path, operationId, schemas });
    const hierarchy = path.replace(/\{[^}]*\}/g, '{}');
    const known = byHierarchy.get(hierarchy);
    if (known) describeBoth(known, operation);
    else paths[path] = { get: operation };
    byHierarchy.set(hierarchy, known ?? operation);
  }
  const { $defs = {} } = z.toJSONSchema(gatewayErrorBodySchema);
  const { id: _id, ...errorSchema } = $defs[errorName] as JsonSchema;
  return {
    openapi: '3.1.0',
    info: {
      title: 'Protocol query gateway',
      version: '1',
      description: 'Queries of the protocol over HTTP. The routes are those the connected node offers at the moment.',
    },
    paths,
    components: { schemas: { ...schemas.all(), [errorName]: errorSchema } as Record<string, JsonSchema> },
  };
}

function toOperation(
  route: Route,
  { path, operationId, schemas }: { path: string; operationId: string; schemas: ReturnType<typeof createSchemaSet> },
) {
  const { method, pattern, responseBody } = route;
  const names = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name = '']) => name);
  const ofPath = pattern.variables.map(({ field, from, to }, index): Parameter => {
    const shape = spell(pattern.segments.slice(from, to));
    const of = method.input.fields.find(({ name }) => name === field);
    return {
      name: names[index] ?? field,
      in: 'path',
      required: true,
      ...toDescription(
        [of && readComment(of), shape !== '*' && `A path of the form ${shape}.`].filter(Boolean).join('\n'),
      ),
      schema: { type: 'string' },
    };
  });
  const isFirst = ({ name }: Parameter, at: number) => ofPath.findIndex((each) => each.name === name) === at;
  const bound = pattern.variables.map(({ field }) => field);
  const field = method.output.fields.find((candidate) => candidate.name === responseBody);
  const schema = field ? schemas.ofField(field) : schemas.ofMessage(method.output);
  return {
    operationId,
    tags: [method.parent.typeName],
    summary: method.name,
    ...toDescription(readComment(method)),
    ...(method.deprecated && { deprecated: true }),
    parameters: [
      ...ofPath.filter(isFirst),
      ...listQueryParameters(method.input, bound),
      {
        name: heightHeader,
        in: 'header',
        description: 'The height to answer for; the latest unless given.',
        schema: { type: 'string', pattern: '^[0-9]+$' },
      },
    ],
    responses: {
      200: { description: 'The answer.', content: { 'application/json': { schema } } },
      default: {
        description: 'An error.',
        content: { 'application/json': { schema: { $ref: `#/components/schemas/${errorName}` } } },
      },
    },
  };
}

type Operation = ReturnType<typeof toOperation>;

/** Adds a binding whose path differs from an earlier one only in the patterns of its variables to that operation. */
function describeBoth(first: Operation, other: Operation): void {
  const text = (part: { description?: string }, what: string) => part.description ?? what;
  Object.assign(first, {
    summary: `${first.summary}, ${other.summary}`,
    ...toDescription(`${text(first, first.summary)}\n\n${other.operationId}: ${text(other, other.summary)}`),
  });
  const ofPath = (operation: Operation) => operation.parameters.filter((parameter) => parameter.in === 'path');
  for (const [index, parameter] of ofPath(first).entries()) {
    const added = ofPath(other)[index]?.description;
    if (added)
      Object.assign(parameter, toDescription([parameter.description, `Or: ${added}`].filter(Boolean).join('\n')));
  }
  const names = new Set(first.parameters.map(({ name }) => name));
  first.parameters.push(...other.parameters.filter((each) => each.in !== 'path' && !names.has(each.name)));
  const content = first.responses[200].content['application/json'];
  const { schema } = other.responses[200].content['application/json'];
  const known = (content.schema.anyOf as JsonSchema[] | undefined) ?? [content.schema];
  if (known.every((each) => JSON.stringify(each) !== JSON.stringify(schema)))
    content.schema = { anyOf: [...known, schema] };
}

function spell(segments: Segment[]): string {
  return segments.map((segment) => (typeof segment === 'string' ? segment : segment.literal)).join('/');
}
