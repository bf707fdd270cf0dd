import cors, { type FastifyCorsOptions } from '@fastify/cors';
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
export async function addCors(
  server: FastifyInstance,
  { origins, extraHeaders = [], exposedHeaders = [] }: CorsOptions,
): Promise<void> {
  const any = origins.includes('*');
  const names = [...corsRequestHeaders, ...extraHeaders.filter((header) => typeof header === 'string')];
  const patterns = extraHeaders.filter((header) => header instanceof RegExp);
  const options: FastifyCorsOptions = {
    origin: any ? '*' : toOriginRules(origins),
    credentials: !any,
    methods: [...corsMethods],
    allowedHeaders: names,
    exposedHeaders: ['X-Request-Id', 'Retry-After', ...exposedHeaders],
    maxAge: 600,
    strictPreflight: false, // an OPTIONS that is no preflight is answered too, not refused
  };
  if (patterns.length === 0) await server.register(cors, options);
  else
    await server.register(cors, {
      delegator(request, done) {
        const asked = request.headers['access-control-request-headers']?.split(',') ?? [];
        const matching = asked.map((name) => name.trim()).filter((name) => patterns.some((each) => each.test(name)));
        done(null, matching.length === 0 ? options : { ...options, allowedHeaders: [...names, ...matching] });
      },
    });
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
