import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError } from '@palaver/contract';
import { createMinuteWindows } from '@palaver/contract/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { clientAddress, isLoopbackAddress, toAddressKey } from './client-address.ts';
import { StartError } from './errors.ts';
import { isTrustedLocal } from './origins.ts';

export const operatorRoles = ['viewer', 'operator', 'admin'] as const;

/** `viewer` reads, `operator` also changes, `admin` also does what cannot be undone or concerns other operators. */
export type OperatorRole = (typeof operatorRoles)[number];

/** Names in the audit log for requests that name nobody. */
const unnamed = ['token', 'loopback', 'unknown'];

const operatorEntrySchema = z.object({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._@-]{0,63}$/i, 'expected letters, digits and . _ @ -, at most 64')
    .refine((name) => !unnamed.includes(name.toLowerCase()), 'expected another name: the audit log says it of others'),
  role: z.enum(operatorRoles),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  createdAt: z.string(),
});

type OperatorEntry = z.infer<typeof operatorEntrySchema>;

export type Operator = Pick<OperatorEntry, 'name' | 'role'>;

/** Whether the token of one person was sent: several may have `OPERATOR_TOKEN`, or use this machine. */
export function isNamed(operator: Operator | null): boolean {
  return operator !== null && !unnamed.includes(operator.name);
}

/** Tokens are random and long, so one round of SHA-256 is enough. */
export function hashOperatorToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** Undefined without a file: nobody was ever named. A file that cannot be read is an error, not an empty list. */
export function loadOperators(path: string): OperatorEntry[] | undefined {
  try {
    return z.array(operatorEntrySchema).parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StartError(`The operators' file ${path} cannot be read; see "palaver operator list".`, { cause: error });
  }
}

/** Returns the token, which is stored nowhere. */
export function addOperator(path: string, { name, role }: Operator): string {
  const operators = loadOperators(path) ?? [];
  if (operators.some((entry) => entry.name.toLowerCase() === name.toLowerCase()))
    throw new StartError(`There is an operator ${name} already.`);
  const token = `palaver_${randomBytes(32).toString('base64url')}`;
  const entry = { name, role, sha256: hashOperatorToken(token), createdAt: new Date().toISOString() };
  const checked = operatorEntrySchema.safeParse(entry);
  if (!checked.success) throw new StartError(`${name}: ${checked.error.issues[0]?.message}`);
  saveOperators(path, [...operators, entry]);
  return token;
}

// Returns how many are left. The file stays even without any, so that this machine does not become an admin again.
export function revokeOperator(path: string, name: string): number {
  const operators = loadOperators(path) ?? [];
  const rest = operators.filter((entry) => entry.name !== name);
  if (rest.length === operators.length) throw new StartError(`There is no operator ${name}.`);
  saveOperators(path, rest);
  return rest.length;
}

function saveOperators(path: string, operators: OperatorEntry[]): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(aside, `${JSON.stringify(operators, undefined, 2)}\n`, { mode: 0o600, flag: 'wx', flush: true });
  renameSync(aside, path);
}

/** Reads the file again when it has changed. While it cannot be read, nobody named in it is let in. */
function watchOperators(path: string | undefined): () => OperatorEntry[] | undefined {
  if (path === undefined) return () => undefined;
  let known = loadOperators(path);
  let state = stateOf(path);
  return () => {
    const now = stateOf(path);
    if (now !== state) {
      state = now;
      try {
        known = loadOperators(path);
      } catch {
        known = [];
      }
    }
    return known;
  };
}

function stateOf(path: string): string {
  const { mtimeNs, size, ino } = statSync(path, { bigint: true, throwIfNoEntry: false }) ?? {};
  return `${mtimeNs}:${size}:${ino}`;
}

interface OperatorGuardOptions {
  token: string | undefined;
  file: string | undefined;
  trustsLocal: boolean;
  onWrongToken(): void;
}

export type OperatorGuard = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

const wrongTokensPerMinute = 10;

export function createOperatorGuards(options: OperatorGuardOptions): (needed?: OperatorRole) => OperatorGuard {
  const { token, file, trustsLocal, onWrongToken } = options;
  const operators = watchOperators(file);
  const wrong = createMinuteWindows({ maxKeys: 10_000 });

  function identify(request: FastifyRequest): Operator | undefined {
    const named = operators();
    if (token === undefined && named === undefined)
      return trustsLocal && isTrustedLocal(request.raw) ? { name: 'loopback', role: 'admin' } : undefined;
    const [, given] = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? [];
    if (given === undefined) return undefined;
    const key = toGuessKey(request);
    // It has to wait then, whatever it sends.
    if (wrong.look(key).count >= wrongTokensPerMinute)
      throw new AppError('RATE_LIMITED', 'Too many wrong operator tokens from this address; try again in a minute.');
    if (token !== undefined && equalSecrets(given, token)) return { name: 'token', role: 'admin' };
    const hash = hashOperatorToken(given);
    const found = named?.find(({ sha256 }) => equalSecrets(hash, sha256));
    if (found) return { name: found.name, role: found.role };
    wrong.add(key);
    onWrongToken();
    return undefined;
  }

  function toRemedy(): string {
    if (token !== undefined || operators() !== undefined) return 'Send a token as a bearer token.';
    if (trustsLocal) return 'Set OPERATOR_TOKEN to use it from elsewhere.';
    return 'In production it needs OPERATOR_TOKEN or a named operator.';
  }

  return (needed) => async (request, reply) => {
    for (const name of Object.keys(reply.getHeaders()))
      if (name.startsWith('access-control-')) reply.removeHeader(name);
    const operator = identify(request);
    if (!operator) {
      reply.header('www-authenticate', 'Bearer');
      throw new AppError('UNAUTHORIZED', `This route is for operators. ${toRemedy()}`);
    }
    const role = needed ?? (request.method === 'GET' || request.method === 'HEAD' ? 'viewer' : 'operator');
    if (operatorRoles.indexOf(operator.role) < operatorRoles.indexOf(role))
      throw new AppError('FORBIDDEN', `This needs an operator with the role ${role}.`);
    request.operator = operator;
  };
}

/** Many clients share a proxy on this machine, such as the console; one that guesses tokens must not block others. */
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

/** Takes a time that depends neither on the first difference nor on the lengths. */
export function equalSecrets(given: string | undefined, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given ?? ''), digest(expected)) && given !== undefined;
}

/** An `onRequest` hook that lets in a scheduler, with the secret in `X-Scheduler-Secret`, or an operator. */
export function createSchedulerGuard(operatorGuard: OperatorGuard, secret: string | undefined): OperatorGuard {
  return async (request, reply) => {
    const given = request.headers['x-scheduler-secret'];
    if (secret !== undefined && typeof given === 'string' && equalSecrets(given, secret)) return;
    await operatorGuard(request, reply);
  };
}
