import { heightHeader } from '@palaver/contract/internal';
import { createLogger, type Env, loadConfig, StartError } from '@palaver/service-kit';
import { gatewayConfigSchema, toRouteOptions } from '../config.ts';
import { loadCertificates } from '../extensions.ts';
import { createLiveTable } from '../live-table.ts';
import { type JsonSchema, toOpenApi } from '../openapi.ts';
import type { Route, RouteTable } from '../route-table.ts';
import { createUpstream } from '../upstream/upstream.ts';

/** In the order in which they win. */
export async function listRoutes(env: Env): Promise<Route[]> {
  return (await loadTable(env))?.routes ?? [];
}

export async function writeClient(env: Env): Promise<string> {
  const table = await loadTable(env);
  if (!table) throw new StartError('The node offers no routes.');
  return toClientSource(toOpenApi(table));
}

async function loadTable(env: Env): Promise<RouteTable | undefined> {
  const config = loadConfig(gatewayConfigSchema, env);
  const ca = await loadCertificates(config.GATEWAY_TLS_CA_FILE);
  const upstream = createUpstream({ addresses: config.GATEWAY_UPSTREAMS, ca });
  const live = createLiveTable({
    descriptors: config.GATEWAY_DESCRIPTORS,
    upstream,
    routes: toRouteOptions(config),
    logger: createLogger({ name: 'gateway', level: 'silent' }),
    onChange: () => undefined,
  });
  try {
    await live.reload();
    return live.current()?.table;
  } catch (error) {
    const source = config.GATEWAY_DESCRIPTORS ?? config.GATEWAY_UPSTREAMS.join(', ');
    const remedy = 'Start the node, or name another with --upstream or GATEWAY_UPSTREAMS.';
    const message = `The routes cannot be read from ${source}: ${(error as Error).message}. ${remedy}`;
    throw new StartError(message, { cause: error });
  } finally {
    upstream.close();
  }
}

// A TypeScript client from the OpenAPI document of the routes: one typed `get`, no dependency but `fetch`.

interface Operation {
  summary: string;
  parameters: { name: string; in: string; schema: JsonSchema }[];
  responses: { 200: { content: { 'application/json': { schema: JsonSchema } } } };
}

interface ClientDocument {
  paths: Record<string, { get: object }>;
  components: { schemas: Record<string, JsonSchema> };
}

const runtime = `
export interface ClientOptions {
  /** Where the gateway is, without a slash at the end. */
  baseUrl: string;
  headers?: Record<string, string>;
  fetch?: typeof fetch;
}

/** What the gateway answers instead of a result. */
export class RequestError extends Error {
  readonly status: number;
  /** The gRPC code. */
  readonly code: number;
  readonly reason: string;

  constructor(status: number, body: { message?: string; code?: number; reason?: string }) {
    super(body.message ?? \`status \${status}\`);
    this.status = status;
    this.code = body.code ?? 2;
    this.reason = body.reason ?? 'UNKNOWN';
  }
}

type Value = string | number | boolean | undefined | (string | number | boolean)[];

/** \`client.get('/path/{id}', { id: '1' })\`; parameters that the path does not have go into the query. */
export function createClient({ baseUrl, headers = {}, fetch: send = fetch }: ClientOptions) {
  return {
    async get<Path extends keyof Routes>(
      path: Path,
      params: Routes[Path]['params'],
      options: { height?: string | number; signal?: AbortSignal } = {},
    ): Promise<Routes[Path]['result']> {
      const query = new URLSearchParams();
      const rest: Record<string, Value> = { ...(params as Record<string, Value>) };
      const filled = path.replace(/\\{([^}]+)\\}/g, (_match, name: string) => {
        const value = String(rest[name]);
        delete rest[name];
        return value.split('/').map(encodeURIComponent).join('/');
      });
      for (const [name, value] of Object.entries(rest))
        for (const item of Array.isArray(value) ? value : [value])
          if (item !== undefined) query.append(name, String(item));
      const text = query.toString();
      const height: Record<string, string> = options.height === undefined ? {} : { '${heightHeader}': String(options.height) };
      const response = await send(\`\${baseUrl}\${filled}\${text && \`?\${text}\`}\`, {
        headers: { accept: 'application/json', ...headers, ...height },
        ...(options.signal && { signal: options.signal }),
      });
      const body: unknown = await response.json();
      if (!response.ok) throw new RequestError(response.status, body as { message?: string });
      return body as Routes[Path]['result'];
    },
  };
}
`;

export function toClientSource({ paths, components }: ClientDocument): string {
  const routes = Object.entries(paths).map(([path, { get }]) => {
    const { summary, parameters, responses } = get as Operation;
    const params = parameters
      .filter(({ in: place }) => place !== 'header')
      .map(({ name, in: place, schema }) => {
        const type = place === 'path' ? 'string | number | boolean' : toParameterType(schema);
        return `${JSON.stringify(name)}${place === 'path' ? '' : '?'}: ${type}`;
      });
    const result = toType(responses[200].content['application/json'].schema);
    return `  /** ${summary} */\n  ${JSON.stringify(path)}: { params: { ${params.join('; ')} }; result: ${result} };`;
  });
  const types = Object.entries(components.schemas).map(
    ([name, schema]) => `export type ${toTypeName(name)} = ${toType(schema)};`,
  );
  return [
    '// Written by `palaver gateway client`; do not edit.',
    `\nexport interface Routes {\n${routes.join('\n')}\n}`,
    ...types,
    runtime.trimStart(),
  ].join('\n\n');
}

function toType(schema: JsonSchema): string {
  const { $ref, anyOf, enum: values, type, items, properties, required = [], additionalProperties } = schema;
  if (typeof $ref === 'string') return toTypeName($ref.slice($ref.lastIndexOf('/') + 1));
  if (Array.isArray(anyOf)) return anyOf.map((each: JsonSchema) => toType(each)).join(' | ');
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(String(value))).join(' | ');
  if (Array.isArray(type)) return type.map((each: unknown) => toType({ type: each })).join(' | ');
  if (type === 'array') return `(${toType((items ?? {}) as JsonSchema)})[]`;
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string' || type === 'boolean' || type === 'null') return type;
  if (type !== 'object') return 'unknown';
  const fields = Object.entries((properties ?? {}) as Record<string, JsonSchema>).map(
    ([name, inner]) => `${JSON.stringify(name)}${(required as string[]).includes(name) ? '' : '?'}: ${toType(inner)}`,
  );
  if (additionalProperties) {
    const others = typeof additionalProperties === 'object' ? toType(additionalProperties as JsonSchema) : 'unknown';
    return fields.length > 0 ? `{ ${fields.join('; ')}; [name: string]: unknown }` : `Record<string, ${others}>`;
  }
  return `{ ${fields.join('; ')} }`;
}

/** Numbers of 64 bits are texts in answers; a request takes both. */
function toParameterType(schema: JsonSchema): string {
  if (schema.type === 'object') return 'never';
  if (schema.type === 'array') return `(${toParameterType((schema.items ?? {}) as JsonSchema)})[]`;
  if (schema.enum || schema.type === 'boolean') return toType(schema);
  return 'string | number';
}

function toTypeName(name: string): string {
  return name.replace(/(?:^|[._])(\w)/g, (_match, letter: string) => letter.toUpperCase()).replace(/\W/g, '_');
}
