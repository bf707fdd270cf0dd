import type { DescMethod } from '@bufbuild/protobuf';
import { type HttpRule, readHttpRules } from './descriptors/options.ts';
import { type Schema, toMethodPath } from './descriptors/schema.ts';

// Matching follows grpc-gateway v1.16: on the decoded path, first registered wins (in v2 the last), colons in the last
// segment are data unless a registered verb says otherwise. A tree replaces the reference's walk over all patterns.

export interface Route {
  verb: HttpRule['method'];
  /** The path template as served, after the prefix was exchanged. */
  template: string;
  method: DescMethod;
  grpcPath: string;
  /** The answer's field that is the whole body, empty for the answer itself. */
  responseBody: string;
  legacy?: { prefix: string; successor: string };
  order: number;
  pattern: PathTemplate;
}

export interface Match {
  route: Route;
  params: [field: string, value: string][];
}

export interface RouteOptions {
  /** Routes annotated under the source prefix are served under another, and under legacy ones. */
  source: string;
  served: string;
  legacy: string[];
  /** Which of several routes that match a path answers: the first registered (unless given) or the last. */
  precedence?: 'first' | 'last';
  hasWrites?: boolean;
}

export interface RouteTable {
  /** Each before those that it answers in place of; legacy ones last. */
  routes: Route[];
  prefixes: string[];
  faults: string[];
  match(path: string): Match | undefined;
  /** The POST routes of the transaction service, whose paths have no variables; empty unless they are opened. */
  writes: Map<string, Route>;
  /** Whether a rule of the node that is not served has this path, whatever its method. */
  isElsewhere(path: string): boolean;
}

interface Node {
  literals: Map<string, Node>;
  wildcard: Node | undefined;
  /** The first registered route that ends here, for each verb. */
  ends: Map<string, Route>;
  deep: Route[];
}

export function createRouteTable(schema: Schema, options: RouteOptions): RouteTable {
  const faults: string[] = [];
  const all: Route[] = [];
  const add = (route: Omit<Route, 'order' | 'pattern'>) => {
    const parsed = parseTemplate(route.template);
    if (parsed.ok) all.push({ ...route, pattern: parsed.template, order: 0 });
    else if (route.verb === 'GET')
      faults.push(`${route.method.parent.typeName}.${route.method.name}: ${parsed.message}`);
  };
  for (const method of schema.services.flatMap((service) => service.methods)) {
    if (method.methodKind !== 'unary') continue;
    for (const { method: verb, path, responseBody } of readHttpRules(method)) {
      const route = { verb, method, grpcPath: toMethodPath(method), responseBody };
      const below = pathBelow(path, options.source);
      add({ ...route, template: below === undefined ? path : options.served + below });
      if (below === undefined) continue;
      for (const prefix of options.legacy)
        add({ ...route, template: prefix + below, legacy: { prefix, successor: options.served } });
    }
  }
  if (options.precedence === 'last') all.reverse();
  const isServed = ({ verb }: Route) => verb === 'GET';
  const toOrdered = (routes: Route[]) =>
    [...routes.filter(({ legacy }) => !legacy), ...routes.filter(({ legacy }) => legacy)].map((route, order) => ({
      ...route,
      order,
    }));
  const routes = toOrdered(all.filter(isServed));
  const writes = options.hasWrites ? all.filter(isWrite) : [];
  const root = createTree(routes);
  const others = createTree(toOrdered(all.filter((route) => !isServed(route))));
  return {
    routes,
    faults,
    prefixes: [...new Set(routes.map(({ template }) => toPrefix(template, options)))],
    writes: new Map(writes.map((route) => [route.template, route])),
    match: (path) => matchPath(root, path),
    isElsewhere: (path) => matchPath(others, path) !== undefined,
  };
}

function isWrite({ verb, method, legacy }: Route): boolean {
  return verb === 'POST' && method.parent.typeName === 'cosmos.tx.v1beta1.Service' && !legacy;
}

function createTree(routes: Route[]): Node {
  const root = createNode();
  for (const route of routes) insert(root, route);
  return root;
}

function toPrefix(template: string, { served, legacy }: RouteOptions): string {
  const known = [served, ...legacy].find((prefix) => pathBelow(template, prefix) !== undefined);
  return known ?? `/${template.split('/')[1] ?? ''}`;
}

function pathBelow(path: string, prefix: string): string | undefined {
  return path === prefix || path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined;
}

function createNode(): Node {
  return { literals: new Map(), wildcard: undefined, ends: new Map(), deep: [] };
}

function insert(root: Node, route: Route): void {
  let node = root;
  for (const segment of route.pattern.segments) {
    if (segment === '**') {
      node.deep.push(route);
      return;
    }
    if (segment === '*') {
      node.wildcard ??= createNode();
      node = node.wildcard;
      continue;
    }
    const next = node.literals.get(segment.literal) ?? createNode();
    node.literals.set(segment.literal, next);
    node = next;
  }
  if (!node.ends.has(route.pattern.verb)) node.ends.set(route.pattern.verb, route);
}

function matchPath(root: Node, path: string): Match | undefined {
  const whole = path.slice(1).split('/');
  const last = whole.at(-1) ?? '';
  const colon = last.lastIndexOf(':');
  let best = find(root, whole, 0, '');
  let segments = whole;
  if (colon > 0) {
    const stem = whole.with(-1, last.slice(0, colon));
    const withVerb = find(root, stem, 0, last.slice(colon + 1));
    if (withVerb && (!best || withVerb.order < best.order)) {
      best = withVerb;
      segments = stem;
    }
  }
  return best && { route: best, params: capture(best.pattern, segments) };
}

function find(node: Node, segments: string[], at: number, verb: string): Route | undefined {
  const deep = node.deep.find(({ pattern }) => pattern.verb === verb && endsAlike(pattern, segments, at));
  const segment = segments[at];
  if (segment === undefined) return earlier(deep, node.ends.get(verb));
  const literal = node.literals.get(segment);
  const below = literal && find(literal, segments, at + 1, verb);
  return earlier(earlier(deep, below), node.wildcard && find(node.wildcard, segments, at + 1, verb));
}

function earlier(one: Route | undefined, other: Route | undefined): Route | undefined {
  return !one || (other && other.order < one.order) ? other : one;
}

/** Whether what follows a `**` that begins at `at` fits the end of the path. */
function endsAlike({ segments: pattern }: PathTemplate, segments: string[], at: number): boolean {
  const tail = pattern.slice(pattern.indexOf('**') + 1);
  const from = segments.length - tail.length;
  return from >= at && tail.every((part, index) => typeof part === 'string' || part.literal === segments[from + index]);
}

function capture({ segments: pattern, variables }: PathTemplate, segments: string[]): Match['params'] {
  const deep = pattern.indexOf('**');
  const taken = segments.length - pattern.length + 1;
  // What a `**` took is one part, an empty one if it took nothing: `{x=a/**}` is `a/` for the path `/a`.
  const parts = deep === -1 ? segments : segments.toSpliced(deep, taken, segments.slice(deep, deep + taken).join('/'));
  return variables.map(({ field, from, to }) => [field, parts.slice(from, to).join('/')]);
}

export type Segment = { literal: string } | '*' | '**';

interface PathTemplate {
  segments: Segment[];
  /** The custom verb after the last colon, empty for none. */
  verb: string;
  variables: { field: string; from: number; to: number }[];
}

type ParsedTemplate = { ok: true; template: PathTemplate } | { ok: false; message: string };

const identifier = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/;
const literal = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})+$/;

/** Parses a template of `google.api.http`: `/a/{b}`, `/a/{b.c=x/*}`, `/a/{b=**}:verb`. */
function parseTemplate(text: string): ParsedTemplate {
  const refuse = (message: string): ParsedTemplate => ({ ok: false, message: `${message} in the path ${text}` });
  if (!text.startsWith('/')) return refuse('no leading slash');
  const template: PathTemplate = { segments: [], verb: '', variables: [] };
  let rest = text.slice(1);
  // The verb follows the last variable or segment; a colon inside a variable's braces belongs to its pattern.
  const colon = rest.lastIndexOf(':');
  if (colon > Math.max(rest.lastIndexOf('}'), rest.lastIndexOf('/'))) {
    template.verb = rest.slice(colon + 1);
    rest = rest.slice(0, colon);
  }
  // Slashes inside braces do not separate segments.
  for (const part of rest.match(/(?:\{[^}]*\}|[^/{}])+|(?<=\/|^)(?=\/|$)|[{}]/g) ?? []) {
    const variable = /^\{([^={}]*)(?:=([^{}]*))?\}$/.exec(part);
    const patterns = variable ? (variable[2] ?? '*').split('/') : [part];
    const from = template.segments.length;
    for (const pattern of patterns) {
      if (pattern === '*' || pattern === '**') template.segments.push(pattern);
      else if (literal.test(pattern)) template.segments.push({ literal: pattern });
      else return refuse(`"${pattern}" is not a path segment`);
    }
    if (!variable) continue;
    const field = variable[1] ?? '';
    if (!identifier.test(field)) return refuse(`"${field}" is not a field`);
    template.variables.push({ field, from, to: template.segments.length });
  }
  if (template.segments.filter((segment) => segment === '**').length > 1) return refuse('more than one **');
  return { ok: true, template };
}
