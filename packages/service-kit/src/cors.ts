import corsPlugin, { type FastifyCorsOptions } from '@fastify/cors';
import { corsMethods, corsRequestHeaders } from '@palaver/contract/internal';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';

/** Any port of this machine, for development. */
const localPorts = /^http:\/\/(?:localhost|127\.0\.0\.1):\*$/;

/** `CORS_ORIGIN`: `*`, or a list of origins; `http://localhost:*` is every port of this machine. */
export function envOrigins() {
  return z
    .string()
    .transform((text) => text.split(',').map((origin) => origin.trim().replace(/\/$/, '')))
    .refine(
      (origins) => origins.every((origin) => origin === '*' || localPorts.test(origin) || isOrigin(origin)),
      'expected * or a comma-separated list of origins such as https://app.example',
    );
}

export interface CorsOptions {
  origins: string[];
  /** Request headers allowed beside the shared ones; a pattern is for clients that send many of a kind. */
  extraHeaders?: (string | RegExp)[];
  exposedHeaders?: string[];
}

/** Cross-origin rules of the specification: any origin without credentials, or named origins with them. */
export async function addCors(server: FastifyInstance, cors: CorsOptions): Promise<void> {
  const { origins, extraHeaders = [] } = cors;
  const any = origins.includes('*');
  const names = [...corsRequestHeaders, ...extraHeaders.filter((header) => typeof header === 'string')];
  const patterns = extraHeaders.filter((header) => header instanceof RegExp);
  const options: FastifyCorsOptions = {
    origin: any ? '*' : toOriginRules(origins),
    credentials: !any,
    methods: [...corsMethods],
    allowedHeaders: names,
    exposedHeaders: toExposed(cors),
    maxAge: 600,
    strictPreflight: false, // an OPTIONS that is not a preflight is answered too
  };
  if (patterns.length === 0) await server.register(corsPlugin, options);
  else
    await server.register(corsPlugin, {
      delegator(request, done) {
        const asked = request.headers['access-control-request-headers']?.split(',') ?? [];
        const matching = asked.map((name) => name.trim()).filter((name) => patterns.some((each) => each.test(name)));
        done(null, matching.length === 0 ? options : { ...options, allowedHeaders: [...names, ...matching] });
      },
    });
}

/** The headers that `addCors` adds to a reply, names and values alternating, where its hook does not run; `Vary` is left to the reply. */
export function createCorsHeaders(cors: CorsOptions): (origin: string | undefined) => string[] {
  const { origins } = cors;
  const exposed = ['access-control-expose-headers', toExposed(cors).join(', ')];
  const any = ['access-control-allow-origin', '*', ...exposed];
  const others = ['access-control-allow-credentials', 'true', ...exposed];
  return (origin) => {
    if (origins.includes('*')) return any;
    return origin !== undefined && isNamedOrigin(origin, origins)
      ? ['access-control-allow-origin', origin, ...others]
      : others;
  };
}

function toExposed({ exposedHeaders = [] }: CorsOptions): string[] {
  return ['X-Request-Id', 'Retry-After', ...exposedHeaders];
}

/** As CORS middlewares take them. */
export function toOriginRules(origins: string[]): (string | RegExp)[] {
  return origins.map((origin) =>
    localPorts.test(origin) ? new RegExp(`^${origin.slice(0, -2).replaceAll('.', '\\.')}(:\\d{1,5})?$`) : origin,
  );
}

export function isNamedOrigin(origin: string | undefined, origins: string[]): boolean {
  if (origin === undefined) return false;
  return toOriginRules(origins).some((rule) => (typeof rule === 'string' ? rule === origin : rule.test(origin)));
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}
