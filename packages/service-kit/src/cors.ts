import cors from '@fastify/cors';
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
  /** Request headers allowed beside the shared ones. */
  extraHeaders?: string[];
  exposedHeaders?: string[];
}

/** Cross-origin rules of the specification: any origin without credentials, or named origins with them. */
export async function addCors(
  server: FastifyInstance,
  { origins, extraHeaders = [], exposedHeaders = [] }: CorsOptions,
): Promise<void> {
  const any = origins.includes('*');
  await server.register(cors, {
    origin: any ? '*' : origins,
    credentials: !any,
    methods: [...corsMethods],
    allowedHeaders: [...corsRequestHeaders, ...extraHeaders],
    exposedHeaders: ['X-Request-Id', 'Retry-After', ...exposedHeaders],
    maxAge: 600,
    strictPreflight: false, // an OPTIONS that is no preflight is answered too, not refused
  });
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}
