import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import swagger from '@fastify/swagger';
import { errorBodySchema } from '@palaver/contract';
import type { FastifyContextConfig, FastifySchema } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { docsPolicy } from './replies.ts';
import type { Server } from './server.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The form of the errors of this route where it is not the shared one. */
    errorBody?: z.ZodType;
    /** Statuses of errors that only this route and few others answer. */
    refuses?: readonly number[];
    /** The media type of a body that is a file and has no schema. */
    takesFile?: string;
  }
}

interface ApiDocsOptions {
  title: string;
  version: string;
  description: string;
  /** How callers sign in, in addition to operators. */
  securitySchemes: Record<string, object>;
  security: Record<string, string[]>[];
  isPublic(url: string, method: string): boolean;
  /** Summaries of routes that have none, by method and path. */
  summaries?: Readonly<Record<string, string>>;
}

export const tableReply = toReply('A page as JSON, or all of it as a file', 'application/json', 'text/csv');

export function toReply(description: string, ...types: string[]) {
  const schemaOf = (type: string) => (type === 'application/json' ? z.unknown() : z.string());
  return { description, content: Object.fromEntries(types.map((type) => [type, { schema: schemaOf(type) }])) };
}

/** The schemas of routes under one heading of `/docs`, which adds the errors that any route may answer. */
export function describeRoutes(tag: string) {
  return <Schema extends object>(summary: string, schema: Schema) => ({ tags: [tag], summary, ...schema });
}

/** Of the log. The time is that of a failure in the list: its id may have been used more than once. */
export const wantedLinesSchema = z.object({
  requestId: z.string().min(1).max(200).optional(),
  time: z.iso.datetime().optional(),
});

const operatorSecurity = [{ operator: [] }];

/** `/docs` and `/docs/json` for all routes that are added from now on, from the schemas that check them. No CDN. */
export async function addApiDocs(server: Server, options: ApiDocsOptions): Promise<void> {
  const { title, version, description, securitySchemes, security, summaries = {} } = options;
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title, version, description },
      components: {
        securitySchemes: {
          ...(securitySchemes as Record<string, { type: 'http'; scheme: string }>),
          operator: {
            type: 'http',
            scheme: 'bearer',
            description: '`OPERATOR_TOKEN`, or the token of a named operator',
          },
        },
      },
      security,
      paths: toEarlierPaths(),
    },
    transform(route) {
      const { method, config = {} } = route.route;
      const isOpen = [method].flat().every((one) => options.isPublic(route.url, one));
      const schema = withRefusals(route.schema, { method, isOpen: isOpen && !config.forOperators, config });
      const transformed = jsonSchemaTransform({ ...route, schema });
      const documented: FastifySchema = {
        summary: summaries[`${method} ${route.url}`],
        ...transformed.schema,
        ...(config.takesFile && { consumes: [config.takesFile], body: { type: 'string', format: 'binary' } }),
      };
      const own = config.forOperators ? operatorSecurity : isOpen ? [] : undefined;
      return { schema: own ? { ...documented, security: own } : documented, url: transformed.url };
    },
    transformObject: (document) => finishDocument(jsonSchemaTransformObject(document)),
  });
  addDocsPage(server, { title, document: 'docs/json' });
  // Made once: it takes as long as twenty requests.
  let document: string | undefined;
  server.get('/docs/json', { schema: { hide: true } }, (_request, reply) => {
    document ??= JSON.stringify(server.swagger());
    return reply.type('application/json; charset=utf-8').send(document);
  });
}

/** For any request: a bad URL, a foreign page or host, too long a URL, too many requests, our own faults. */
const refusals = [400, 403, 414, 429, 500, 503];
/** For any request with a body: it does not arrive, is too large or of another type. */
const bodyRefusals = [408, 413, 415];

function withRefusals(
  schema: FastifySchema = {},
  { method, isOpen, config }: { method: string | string[]; isOpen: boolean; config: FastifyContextConfig },
): FastifySchema {
  const error = config.errorBody ?? errorBodySchema;
  const statuses = [
    ...refusals,
    ...([method].flat().every((one) => one === 'GET' || one === 'HEAD') ? [] : bodyRefusals),
    ...(isOpen ? [] : [401]),
    ...(schema.params === undefined ? [] : [404]),
    ...(config.refuses ?? []),
  ];
  const response = (schema.response ?? { 200: z.unknown().describe('Success') }) as Record<string, unknown>;
  return { ...schema, response: { ...Object.fromEntries(statuses.map((status) => [status, error])), ...response } };
}

function toEarlierPaths() {
  const json = (description: string) => ({ description, content: { 'application/json': { schema: {} } } });
  const errors = Object.fromEntries(refusals.map((status) => [status, json('An error')]));
  const toPath = (summary: string, security: object[], responses: object, query: z.ZodObject = z.object({})) => {
    const { properties = {} } = z.toJSONSchema(query);
    const parameters = Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }));
    return { get: { tags: ['Service'], summary, security, parameters, responses: { ...errors, ...responses } } };
  };
  const forOperators = { 200: json('For operators'), 401: json('For operators only') };
  const text = { description: 'Metrics', content: { 'text/plain': { schema: { type: 'string' as const } } } };
  return {
    '/health': toPath('Health of the service', [], { 200: json('`status` and `timestamp`'), 503: json('Not healthy') }),
    '/ready': toPath('Whether to send requests here', [], {
      200: json('Ready'),
      503: json('Draining, or not healthy'),
    }),
    '/metrics': toPath('Metrics as Prometheus reads them', operatorSecurity, { ...forOperators, 200: text }),
    '/metrics/errors': toPath('The latest errors', operatorSecurity, forOperators),
    '/metrics/log': toPath(
      'The latest warnings and errors of the log, of one request if it is named',
      operatorSecurity,
      forOperators,
      wantedLinesSchema,
    ),
  } as object as Record<string, Record<string, never>>;
}

interface OpenApiDocument {
  paths: Record<string, { post?: { requestBody?: { required: boolean } } }>;
  components: { schemas: Record<string, unknown> };
}

/** Removes what no route of this service refers to: the schemas of the other services are registered as well. */
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
  // The generator requires every body; that of a session is optional.
  const body = document.paths['/sessions']?.post?.requestBody;
  if (body) body.required = false;
  return { ...whole, components: { ...components, schemas: Object.fromEntries(used) } };
}

const require = createRequire(import.meta.url);
const style = require.resolve('swagger-ui-dist/swagger-ui.css');
const script = require.resolve('swagger-ui-dist/swagger-ui-bundle.js');

/**
 * `GET /docs`: Swagger UI for an OpenAPI document at a path relative to `/docs`, with all its files served from here.
 *
 * @example
 * ```ts
 * import { addDocsPage, type Server } from '@palaver/service-kit';
 *
 * export const addDocs = (server: Server) => addDocsPage(server, { title: 'Weather', document: 'openapi.json' });
 * ```
 */
export function addDocsPage(server: Server, { title, document }: { title: string; document: string }): void {
  const settings = { url: document, dom_id: '#docs', deepLinking: true, validatorUrl: null };
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title.replace(/[&<]/g, (sign) => (sign === '&' ? '&amp;' : '&lt;'))}</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;
  const add = (path: string, type: string, read: () => string | Buffer) => {
    let content: string | Buffer | undefined;
    server.get(path, { schema: { hide: true } }, async (_request, reply) => {
      content ??= read();
      const headers = { 'content-security-policy': docsPolicy, 'cache-control': 'public, max-age=3600' };
      return reply.headers({ 'content-type': `${type}; charset=utf-8`, ...headers }).send(content);
    });
  };
  add('/docs', 'text/html', () => page);
  server.get('/docs/', { schema: { hide: true } }, (_request, reply) => reply.redirect('../docs'));
  add('/docs/start.js', 'text/javascript', () => `SwaggerUIBundle(${JSON.stringify(settings)});\n`);
  add('/docs/swagger-ui.css', 'text/css', () => readFileSync(style));
  add('/docs/swagger-ui-bundle.js', 'text/javascript', () => readFileSync(script));
}
