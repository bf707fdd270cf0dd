import type { AppError } from '@palaver/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Who asks: the name of an API key, or a DID. Answers do not depend on it. */
export type Authorized =
  | { ok: true; identity: string }
  | { ok: false; error: AppError; headers?: Record<string, string> | undefined };

/** What a decision may depend on. */
export type Asker = Pick<FastifyRequest, 'headers' | 'ip' | 'socket' | 'raw'>;

/** Decides on a request for a path that exists. */
export type Authorize = (request: Asker, path: string) => Authorized | Promise<Authorized>;

export function refuse(error: AppError, headers?: Record<string, string>): Authorized {
  return { ok: false, error, headers };
}

/** Throws what a request that may not continue is refused with. */
export function requireAuthorized(authorized: Authorized, reply: FastifyReply): void {
  if (authorized.ok) return;
  reply.headers(authorized.headers ?? {});
  throw authorized.error;
}

export const authorizeAnyone: Authorize = () => ({ ok: true, identity: '' });
