import { createHash, timingSafeEqual } from 'node:crypto';
import { AppError } from '@palaver/contract';
import { createMinuteWindows } from '@palaver/contract/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientAddress, isLoopbackAddress, toAddressKey } from './client-address.ts';
import { isTrustedLocal } from './local-trust.ts';
import { hashOperatorToken, mayAct, type Operator, type OperatorRole, watchOperators } from './operators.ts';

export interface OperatorGuardOptions {
  token: string | undefined;
  /** Named operators; see `OPERATORS_FILE`. */
  file: string | undefined;
  /** Whether trusted requests of this machine are an admin's while there is neither a token nor a named operator. */
  trustsLocal: boolean;
  onWrongToken(): void;
}

export type OperatorGuard = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

export const wrongTokensPerMinute = 10;

/**
 * Makes `onRequest` hooks that let operators of a role in and note who it is in `request.operator`.
 */
export function createOperatorGuards(options: OperatorGuardOptions): (needed?: OperatorRole) => OperatorGuard {
  const { token, file, trustsLocal, onWrongToken } = options;
  const operators = watchOperators(file);
  const limit = createWrongTokenLimit();

  function identify(request: FastifyRequest): Operator | undefined {
    const named = operators();
    if (token === undefined && named === undefined)
      return trustsLocal && isTrustedLocal(request.raw) ? { name: 'loopback', role: 'admin' } : undefined;
    const given = bearerOf(request);
    if (given === undefined) return undefined;
    const key = toGuessKey(request);
    limit.check(key);
    if (token !== undefined && equalSecrets(given, token)) return { name: 'token', role: 'admin' };
    const hash = hashOperatorToken(given);
    const found = named?.find(({ sha256 }) => equalSecrets(hash, sha256));
    if (found) return { name: found.name, role: found.role };
    limit.count(key);
    onWrongToken();
    return undefined;
  }

  return (needed) => async (request, reply) => {
    for (const name of Object.keys(reply.getHeaders())) {
      if (name.startsWith('access-control-')) reply.removeHeader(name);
    }
    const operator = identify(request);
    if (!operator) throw unauthorized(reply, { isOpen: token === undefined && operators() === undefined, trustsLocal });
    const role = needed ?? (request.method === 'GET' || request.method === 'HEAD' ? 'viewer' : 'operator');
    if (!mayAct(operator.role, role)) throw new AppError('FORBIDDEN', `This needs an operator with the role ${role}.`);
    request.operator = operator;
  };
}

function unauthorized(
  reply: FastifyReply,
  { isOpen, trustsLocal }: { isOpen: boolean; trustsLocal: boolean },
): AppError {
  reply.header('www-authenticate', 'Bearer');
  const remedy = !isOpen
    ? 'Send a token as a bearer token.'
    : trustsLocal
      ? 'Set OPERATOR_TOKEN to use it from elsewhere.'
      : 'In production it needs OPERATOR_TOKEN or a named operator.';
  return new AppError('UNAUTHORIZED', `This route is for operators. ${remedy}`);
}

/** Many clients share a proxy on this machine, such as the console; one that guesses tokens must not block the others. */
function toGuessKey(request: FastifyRequest): string {
  const address = clientAddress(request);
  const named =
    isLoopbackAddress(address) &&
    String(request.headers['x-forwarded-for'] ?? '')
      .split(',')
      .at(-1)
      ?.trim();
  return named ? `via ${toAddressKey(named.slice(0, 64))}` : toAddressKey(address);
}

/** After too many wrong tokens in a minute an address waits, whatever it sends then. */
function createWrongTokenLimit() {
  const wrong = createMinuteWindows({ maxKeys: 10_000 });
  return {
    check(key: string): void {
      if (wrong.look(key).count >= wrongTokensPerMinute)
        throw new AppError('RATE_LIMITED', 'Too many wrong operator tokens from this address; try again in a minute.');
    },
    count: wrong.add,
  };
}

/** Compares two secrets in a time that depends neither on the first difference nor on their lengths. */
export function equalSecrets(given: string | undefined, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given ?? ''), digest(expected)) && given !== undefined;
}

/** An `onRequest` hook for work that a scheduler asks for, with the secret in `X-Scheduler-Secret`, or an operator. */
export function createSchedulerGuard(operatorGuard: OperatorGuard, secret: string | undefined): OperatorGuard {
  return async (request, reply) => {
    const given = request.headers['x-scheduler-secret'];
    if (secret !== undefined && typeof given === 'string' && equalSecrets(given, secret)) return;
    await operatorGuard(request, reply);
  };
}

function bearerOf(request: FastifyRequest): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
}
