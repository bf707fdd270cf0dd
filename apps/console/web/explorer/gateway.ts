import { heightHeader } from '@palaver/contract/internal';
import { useQuery } from '@tanstack/react-query';
import { ServiceFault, toServicePath } from '../api/call-service.ts';
import { t } from '../i18n/text.ts';

export type Answer = Awaited<ReturnType<typeof askGateway>>;

/** Refusals are answers too. */
export async function askGateway(request: RequestParts) {
  const started = performance.now();
  const { target, headers } = request;
  const response = await fetch(toServicePath('gateway', target), { headers, cache: 'no-store' });
  const text = await response.text();
  const ms = performance.now() - started;
  const header = (name: string) => response.headers.get(name);
  return {
    request,
    status: response.status,
    ms,
    cache: header('x-cache'),
    height: header(heightHeader),
    bytes: new TextEncoder().encode(text).length,
    text,
    body: parseJson(text),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function toBody<Body>({ status, body }: Answer): Body {
  if (status === 200) return body as Body;
  const { message } = (body ?? {}) as { message?: string };
  if (message) throw new ServiceFault(status, message);
  throw new Error(t('explorer.answered', { status }));
}

export function useAnswer<Body = unknown>(target: string | undefined) {
  return useQuery({
    queryKey: ['gateway', target],
    enabled: target !== undefined,
    queryFn: async () => {
      const answer = await askGateway({ target: target ?? '', headers: {} });
      return { ...answer, body: toBody<Body>(answer) };
    },
  });
}

export function useRoutes() {
  return useQuery({
    queryKey: ['gateway-routes'],
    staleTime: 30_000,
    retry: 5,
    retryDelay: 1_000,
    queryFn: async (): Promise<Route[]> => {
      const { status, body } = await askGateway({ target: '/openapi.json', headers: {} });
      if (status !== 200) throw new Error(t('explorer.noRoutes'));
      return toRoutes(body as OpenApiDocument);
    },
  });
}

interface OpenApiDocument {
  paths?: Record<string, { get?: OpenApiOperation }>;
}

interface OpenApiOperation {
  operationId?: string;
  tags?: string[];
  summary?: string;
  description?: string;
  deprecated?: boolean;
  parameters?: OpenApiParameter[];
}

interface OpenApiParameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: { type?: string | string[]; format?: string; enum?: unknown[]; contentEncoding?: string };
}

export interface RouteParameter {
  name: string;
  place: 'path' | 'query' | 'header';
  required: boolean;
  hint: string;
  choices: string[];
}

export interface Route {
  path: string;
  title: string;
  group: string;
  description: string;
  parameters: RouteParameter[];
}

export function toRoutes(document: OpenApiDocument): Route[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, { get }]) => {
    if (!get || get.deprecated) return [];
    return {
      path,
      title: get.summary ?? get.operationId ?? path,
      group: get.tags?.[0]?.replace(/\.(Query|Service)$/, '') ?? 'Other',
      description: get.description ?? '',
      parameters: (get.parameters ?? []).flatMap(toParameter),
    };
  });
}

function toParameter({ name, in: place, required, description, schema }: OpenApiParameter): RouteParameter[] {
  if (place !== 'path' && place !== 'query' && place !== 'header') return [];
  const types = [schema?.type ?? 'string'].flat().filter((type) => type !== 'null');
  const choices = types.includes('boolean') ? ['true', 'false'] : (schema?.enum ?? []).map(String);
  const hint = [description, schema?.format ?? schema?.contentEncoding ?? (choices.length > 0 ? '' : types[0])];
  return [{ name, place, required: required ?? false, choices, hint: hint.filter(Boolean).join(' · ') }];
}

export interface RequestParts {
  target: string;
  headers: Record<string, string>;
}

export function fillRoute(route: Route, values: Readonly<Record<string, string>>): RequestParts {
  let path = route.path;
  const query: string[] = [];
  const headers: Record<string, string> = {};
  for (const { name, place } of route.parameters) {
    const value = values[`${place}:${name}`]?.trim() ?? '';
    if (place === 'path') path = path.replace(toPlaceholder(name), encodePath(value));
    else if (value === '') continue;
    else if (place === 'query') query.push(`${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
    else headers[name] = value;
  }
  return { target: query.length > 0 ? `${path}?${query.join('&')}` : path, headers };
}

function toPlaceholder(name: string): string | RegExp {
  return new RegExp(`\\{${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(=[^}]*)?\\}`);
}

/** Colons and slashes are data in this gateway's paths: DIDs stay readable. */
export function encodePath(value: string): string {
  return encodeURIComponent(value).replaceAll('%3A', ':').replaceAll('%2F', '/');
}

export function findPath(routes: Route[], ending: string): string | undefined {
  return routes.find(({ path }) => path.endsWith(ending))?.path;
}

/** Finds well-known routes under whatever prefix this gateway serves them. */
export function usePaths<const Endings extends readonly string[]>(...endings: Endings) {
  const { data: routes = [] } = useRoutes();
  return endings.map((ending) => findPath(routes, ending)) as { [Index in keyof Endings]: string | undefined };
}
