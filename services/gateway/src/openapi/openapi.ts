import { gatewayErrorBodySchema, heightHeader } from '@palaver/contract/internal';
import { z } from 'zod';
import { readComment } from '../descriptors/comments.ts';
import type { Segment } from '../path-template.ts';
import type { Route, RouteTable } from '../route-table.ts';
import { listQueryParameters, type Parameter } from './parameters.ts';
import { createSchemaSet, type JsonSchema, toDescription } from './schemas.ts';

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
    // Paths that differ in their variables' names alone are the same to OpenAPI.
    const hierarchy = path.replace(/\{[^}]*\}/g, '{}');
    const known = byHierarchy.get(hierarchy);
    if (known) describeBoth(known, operation);
    else paths[path] = { get: operation };
    byHierarchy.set(hierarchy, known ?? operation);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Protocol query gateway',
      version: '1',
      description: 'Queries of the protocol over HTTP. The routes are those the connected node offers at the moment.',
    },
    paths,
    components: { schemas: { ...schemas.all(), [errorName]: toErrorSchema() } as Record<string, JsonSchema> },
  };
}

function toErrorSchema(): JsonSchema {
  const { $defs = {} } = z.toJSONSchema(gatewayErrorBodySchema);
  const { id: _id, ...schema } = $defs[errorName] as JsonSchema;
  return schema;
}

interface OperationOptions {
  path: string;
  operationId: string;
  schemas: ReturnType<typeof createSchemaSet>;
}

function toOperation(route: Route, { path, operationId, schemas }: OperationOptions) {
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

/** Adds a binding whose path differs only in the patterns of its variables to the operation of the first one. */
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
