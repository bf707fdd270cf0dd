import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { StartError } from './start-error.ts';

export const operatorRoles = ['viewer', 'operator', 'admin'] as const;

/** `viewer` reads, `operator` also changes, `admin` also does what cannot be undone or concerns other operators. */
export type OperatorRole = (typeof operatorRoles)[number];

/** Who sent a request of operators, for audit lines. */
export interface Operator {
  name: string;
  role: OperatorRole;
}

/** What the audit log says of requests that name nobody. */
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

export type OperatorEntry = z.infer<typeof operatorEntrySchema>;

/** Whether a request was sent with a token of one person: several may have `OPERATOR_TOKEN`, or use this machine. */
export function isNamed(operator: Operator | null): boolean {
  return operator !== null && !unnamed.includes(operator.name);
}

export function mayAct(role: OperatorRole, needed: OperatorRole): boolean {
  return operatorRoles.indexOf(role) >= operatorRoles.indexOf(needed);
}

/** Tokens are random and long, so one round of SHA-256 is enough. */
export function hashOperatorToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/**
 * The named operators of the file; undefined if there is no file, because nobody was ever named. A file that cannot be
 * read is an error, not an empty list.
 */
export function loadOperators(path: string): OperatorEntry[] | undefined {
  try {
    return z.array(operatorEntrySchema).parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StartError(`The operators' file ${path} cannot be read; see "palaver operator list".`, { cause: error });
  }
}

/** Adds an operator to the file and gives the token, which is kept nowhere. */
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

/**
 * Takes an operator out of the file; running services notice at the next request. The file stays when the last one is gone,
 * so that this machine does not become an admin again. Gives the number of those who are left.
 */
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

/** The same, read again when the file has changed. While it cannot be read, nobody named in it is let in. */
export function watchOperators(path: string | undefined): () => OperatorEntry[] | undefined {
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
