import type { FastifyRequest } from 'fastify';

/** The address by which clients reach this service: `PUBLIC_URL`, else what the request itself was sent to. */
export function publicUrlOf(request: FastifyRequest, configured: unknown): string {
  if (typeof configured === 'string') return configured;
  const host = /^[\w.:[\]-]+$/.test(request.host) ? request.host : 'localhost';
  return `${request.protocol}://${host}`;
}
