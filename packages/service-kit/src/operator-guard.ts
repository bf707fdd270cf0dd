import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BlockList } from 'node:net';
import { AppError } from '@palaver/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';

const forwardingHeaders = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'];

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Who was let in as an operator. */
export interface Operator {
  name: string;
  role: 'viewer' | 'operator' | 'admin';
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the guard of an operators' route let the request in. */
    operator: Operator | null;
  }
}

/**
 * Lets operators in: by bearer token when one is set, otherwise only direct connections from this machine.
 * A reverse proxy on the same machine also connects from loopback, hence the look at the forwarding headers.
 */
export function createOperatorGuard(token: string | undefined) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (token === undefined ? isDirectFromLoopback(request.raw) : equalSecrets(bearerOf(request), token)) {
      request.operator = { name: token === undefined ? 'loopback' : 'token', role: 'admin' };
      return;
    }
    reply.header('www-authenticate', 'Bearer');
    const remedy = token === undefined ? 'Set OPERATOR_TOKEN to use it from elsewhere.' : 'Send it as a bearer token.';
    throw new AppError('UNAUTHORIZED', `This route is for operators. ${remedy}`);
  };
}

/** Compares two secrets in a time that does not depend on where they differ, nor on their lengths. */
export function equalSecrets(given: string | undefined, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given ?? ''), digest(expected)) && given !== undefined;
}

function bearerOf(request: FastifyRequest): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
}

/** Whether a request came from this machine without a proxy in between that would say so. */
export function isDirectFromLoopback({ headers, socket }: IncomingMessage): boolean {
  if (forwardingHeaders.some((name) => headers[name] !== undefined)) return false;
  const { remoteAddress = '', remoteFamily } = socket;
  const address = remoteAddress.replace(/^::ffff:(?=\d+\.)/, '');
  return loopback.check(address, remoteFamily === 'IPv6' && address === remoteAddress ? 'ipv6' : 'ipv4');
}
