import swagger from '@fastify/swagger';
import { errorBodySchema } from '@palaver/contract';
import { addDocsPage, type Server } from '@palaver/service-kit';
import type { FastifySchema } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { RouteMatcher } from '../auth/auth-hook.ts';

const description = `
Sessions, messages and streams of a conversational agent.

Protected routes take a user-signed UCAN invocation: \`Authorization: Bearer <invocation>\` together with
\`X-Auth-Type: ucan\`. A user-to-agent delegation in \`x-ucan-delegation\` goes along for calls downstream, and is
accepted alone as the fallback. \`npx palaver token --for URL\` makes one for trying things out.
`;

/** The routes that are there before the documentation is. */
const earlierPaths = {
  '/health': {
    get: {
      tags: ['Service'],
      summary: 'Health of the service',
      security: [],
      responses: {
        200: { description: '`status` and `timestamp`' },
        503: { description: 'The database is unreachable' },
      },
    },
  },
  '/ready': {
    get: {
      tags: ['Service'],
      summary: 'Whether to send requests here',
      security: [],
      responses: { 200: { description: '`status: "ready"`' }, 503: { description: 'Draining, or not healthy' } },
    },
  },
  '/metrics': toOperatorPath('Metrics as Prometheus reads them'),
  '/metrics/errors': toOperatorPath('The latest errors'),
  '/metrics/errors/{requestId}': toOperatorPath('The log lines of a failed request', 'requestId'),
};

function toOperatorPath(summary: string, parameter?: string) {
  const responses = { 200: { description: 'For operators' }, 401: { description: 'For operators only' } };
  const schema = { type: 'string' as const, maxLength: 200 };
  const parameters = parameter ? [{ name: parameter, in: 'path', required: true, schema }] : [];
  return { get: { tags: ['Service'], summary, parameters, security: [{ operator: [] }], responses } };
}

/** `/docs`: all routes of this deployment, from the schemas that check them; plugin routes included. No CDN. */
export async function addDocs(
  server: Server,
  { title, version, isPublic }: { title: string; version: string; isPublic: RouteMatcher },
): Promise<void> {
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title, version, description },
      components: {
        securitySchemes: {
          invocation: {
            type: 'http',
            scheme: 'bearer',
            description: 'UCAN invocation as a base64 CAR; with `X-Auth-Type: ucan`.',
          },
          authType: { type: 'apiKey', in: 'header', name: 'X-Auth-Type', description: '`ucan`' },
          operator: { type: 'http', scheme: 'bearer', description: '`OPERATOR_TOKEN`' },
          delegation: {
            type: 'apiKey',
            in: 'header',
            name: 'x-ucan-delegation',
            description: 'UCAN delegation as a base64 CAR.',
          },
        },
      },
      security: [{ invocation: [], authType: [] }, { delegation: [] }],
      // A copy, because the routes of this server are added to it.
      paths: { ...earlierPaths },
    },
    transform(route) {
      const { method, config } = route.route;
      const open = config?.forOperators || [method].flat().every((one) => isPublic(route.url, one));
      const { schema, url } = jsonSchemaTransform({ ...route, schema: withRefusals(route.schema, open) });
      return { schema: open ? { ...schema, security: [] } : schema, url };
    },
    transformObject: (document) => finishDocument(jsonSchemaTransformObject(document)),
  });
  addDocsPage(server, { title, document: 'docs/json' });
  server.get('/docs/json', { schema: { hide: true } }, () => server.swagger());
}

/** What every route of its kind may answer: 400 where something is validated, 401 where credentials are. */
function withRefusals(schema: FastifySchema = {}, isPublic: boolean): FastifySchema {
  const response = (schema.response ?? { 200: z.unknown().describe('Success') }) as Record<number, unknown>;
  const isChecked = schema.body !== undefined || schema.querystring !== undefined;
  return {
    ...schema,
    response: { ...response, ...(isChecked && { 400: errorBodySchema }), ...(!isPublic && { 401: errorBodySchema }) },
  };
}

/** The part of the document that is looked at here. */
interface OpenApiDocument {
  paths: Record<string, { post?: { requestBody?: { required: boolean } } }>;
  components: { schemas: Record<string, unknown> };
}

/** Takes out what no route of this service refers to: the schemas of the other services are registered as well. */
function finishDocument<D>(whole: D): D {
  const document = whole as OpenApiDocument;
  const { schemas, ...components } = document.components;
  const used = new Map<string, unknown>();
  const keep = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    const name = '$ref' in value && typeof value.$ref === 'string' ? value.$ref.split('/').at(-1) : undefined;
    if (name !== undefined && !used.has(name)) {
      used.set(name, schemas[name]);
      keep(schemas[name]);
    }
    for (const part of Object.values(value)) keep(part);
  };
  keep(document.paths);
  // Every body is said to be required, which is not so of a session's.
  const body = document.paths['/sessions']?.post?.requestBody;
  if (body) body.required = false;
  return { ...whole, components: { ...components, schemas: Object.fromEntries(used) } };
}
