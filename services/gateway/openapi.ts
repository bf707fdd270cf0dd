import { gatewayErrorBodySchema } from '@palaver/contract';
import { z } from 'zod';
import { listQueryParameters, type Parameter } from './openapi/parameters.ts';
import { createSchemaSet, type JsonSchema } from './openapi/schemas.ts';
import type { Route, RouteTable } from './route-table.ts';

const errorName = 'GatewayError';

/** The routes as an OpenAPI 3.1 document. Legacy routes are left out: they are there for those who know them. */
export function toOpenApi({ routes }: RouteTable) {
  const schemas = createSchemaSet();
  const paths: Record<string, object> = {};
  const seen = new Set<string>();
  const operationIds = new Map<string, number>();
  for (const route of routes) {
    const { path, shape } = toOpenApiPath(route);
    // Two templates that differ in their variables' names only are one path; the first is the one that answers.
    if (route.legacy || seen.has(shape)) continue;
    seen.add(shape);
    const name = `${route.method.parent.typeName}.${route.method.name}`;
    const count = (operationIds.get(name) ?? 0) + 1;
    operationIds.set(name, count);
    paths[path] = { get: toOperation(route, count === 1 ? name : `${name}.${count}`, schemas) };
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

function toOpenApiPath({ template, pattern }: Route): { path: string; shape: string } {
  // OpenAPI has no patterns inside braces: `{x=a/*}` becomes `{x}`, described in words.
  const path = template.replace(/\{([^=}]+)=[^}]*\}/g, '{$1}');
  const shape = pattern.segments.map((segment) => (typeof segment === 'string' ? segment : segment.literal)).join('/');
  return { path, shape: `${shape}:${pattern.verb}` };
}

function toOperation(route: Route, operationId: string, schemas: ReturnType<typeof createSchemaSet>) {
  const { method, template, pattern, responseBody } = route;
  const bound = pattern.variables.map(({ field }) => field);
  const ofPath = pattern.variables.map(({ field, from, to }): Parameter => {
    const shape = /\{[^}]*=([^}]*)\}/.exec(template)?.[1];
    const isPattern = pattern.segments.slice(from, to).some((segment) => segment !== '*');
    return {
      name: field,
      in: 'path',
      required: true,
      ...(isPattern && shape && { description: `A path of the form ${shape}.` }),
      schema: { type: 'string' },
    };
  });
  const field = method.output.fields.find((candidate) => candidate.name === responseBody);
  const schema = field ? schemas.ofField(field) : schemas.ofMessage(method.output);
  return {
    operationId,
    tags: [method.parent.typeName],
    summary: method.name,
    ...(method.deprecated && { deprecated: true }),
    parameters: [
      ...ofPath,
      ...listQueryParameters(method.input, bound),
      {
        name: 'x-cosmos-block-height',
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
