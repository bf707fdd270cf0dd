import cors, { type FastifyCorsOptions } from '@fastify/cors';
import { corsMethods, corsRequestHeaders } from '@palaver/contract';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';

/** `CORS_ORIGIN`: `*`, or a list of origins. */
export function envOrigins() {
  return z
    .string()
    .transform((text) => text.split(',').map((origin) => origin.trim().replace(/\/$/, '')))
    .refine(
      (origins) => origins.every((origin) => origin === '*' || isOrigin(origin)),
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
    origin: any ? '*' : origins,
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

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}
