import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { isLoopbackHost } from './client-address.ts';
import { isTrue } from './env-types.ts';
import { StartError } from './errors.ts';

/** Environment variables. */
export type Env = Record<string, string | undefined>;

/** The description of a variable, given by `.meta({ … })` as the last call on its schema. */
export interface VariableMeta {
  description: string;
  /** If left out, the default is the example. */
  example?: string;
  /** The value never appears in a message. */
  secret?: boolean;
  inProduction?: ProductionRule;
}

/** How variables are read. */
export interface ConfigOptions {
  /** Variables read under another name: `{ PORT: 'USSD_PORT' }` where several services share one environment. */
  names?: Record<string, string>;
}

export interface Variable extends VariableMeta {
  name: string;
  example: string;
  defaultText: string | undefined;
}

/**
 * Reads a service's configuration. Every faulty variable is named in the one error that is thrown.
 *
 * @example
 * ```ts
 * import { baseVariables, loadConfig } from '@palaver/service-kit';
 * import { z } from 'zod';
 *
 * export const { PORT } = loadConfig(z.object(baseVariables({ port: 4200 })), process.env);
 * ```
 */
export function loadConfig<T extends z.ZodObject>(
  schema: T,
  env: Env,
  options: ConfigOptions = {},
): Readonly<z.infer<T>> {
  const result = parseConfig(schema, env, options);
  if ('faults' in result) throw new StartError(toConfigMessage(result.faults));
  return result.config;
}

/** Returns the faults, so that one message can list those of several services. */
export function parseConfig<T extends z.ZodObject>(
  schema: T,
  env: Env,
  { names = {} }: ConfigOptions = {},
): { config: Readonly<z.infer<T>> } | { faults: string[] } {
  const input: Env = {};
  for (const key of Object.keys(schema.shape)) {
    // A variable set to nothing is not set: `PORT= npm start`, or an empty line of a .env file.
    const text = env[names[key] ?? key];
    if (text !== undefined && text !== '') input[key] = text;
  }
  const toFault = (key: string, message: string) => {
    const name = names[key] ?? key;
    const { example, secret } = describe(schema.shape[key]);
    const text = input[key];
    const shown = text === undefined ? ' is not set' : secret ? '' : `=${JSON.stringify(text)}`;
    return `${name}${shown}: ${message}${example === undefined ? '' : ` (for example ${name}=${example})`}`;
  };
  const result = schema.safeParse(input);
  const wrong = result.error?.issues.map((issue) => toFault(String(issue.path[0] ?? ''), issue.message)) ?? [];
  const unsafe = findUnsafe(schema, input, env).map(({ key, message }) => toFault(key, message));
  if (result.success && unsafe.length === 0) return { config: Object.freeze(result.data) };
  return { faults: [...wrong, ...unsafe] };
}

export function toConfigMessage(faults: string[]): string {
  return ['The configuration is not valid:', ...new Set(faults)].join('\n  ');
}

export function listVariables(schema: z.ZodObject): Variable[] {
  return Object.entries(schema.shape).map(([name, field]) => {
    const { description, example, defaultText, secret = false } = describe(field);
    if (!description || example === undefined) throw new Error(`${name} has no description or no example`);
    return { name, defaultText, description, example, secret };
  });
}

/** A plugin's author may have described nothing. */
function describe(field: unknown): Partial<VariableMeta> & { defaultText?: string } {
  const defaultText = field instanceof z.ZodPrefault ? String(field.def.defaultValue) : undefined;
  return { example: defaultText, ...(field as z.ZodType | undefined)?.meta(), defaultText };
}

/** Unknown variables with one of our prefixes: almost always a typing mistake. */
export function findUnknownVariables(env: Env, known: Iterable<string>, prefixes: string[]): string[] {
  const names = new Set(known);
  return Object.keys(env)
    .filter((name) => prefixes.some((prefix) => name.startsWith(prefix)) && !names.has(name))
    .map((name) => {
      const [nearest] = [...names].sort((a, b) => editDistance(name, a) - editDistance(name, b));
      return `${name}: no such variable${nearest ? `; did you mean ${nearest}?` : ''}`;
    });
}

export function findMisspelt(env: Env, known: Iterable<string>): { name: string; meant: string }[] {
  const names = new Set(known);
  return Object.keys(env).flatMap((name) => {
    if (names.has(name) || name.length < 6) return [];
    const near = name.length < 9 ? 1 : 2;
    const meant = [...names].find((other) => other.length > 5 && editDistance(name, other) <= near);
    return meant === undefined ? [] : [{ name, meant }];
  });
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/**
 * The environment with the values of a `.env` file under it: what is set in the environment wins.
 *
 * @example
 * ```ts
 * import { createOracleApp } from '@palaver/agent-plugins';
 * import { withEnvFile } from '@palaver/service-kit';
 *
 * export const app = await createOracleApp({ env: withEnvFile(process.env) });
 * ```
 */
export function withEnvFile(env: Env, path = '.env'): Env {
  try {
    return { ...parseEnv(readFileSync(path, 'utf8')), ...env };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return env;
    throw error;
  }
}

// What production refuses. The rules belong to their variables, so that a start, `palaver up` and `palaver doctor` agree.

/** Returns what is wrong in production; `isExposed` if other machines reach the service. */
type ProductionRule = (text: string | undefined, context: { env: Env; isExposed: boolean }) => string | undefined;

const secretLength = 32;

/** Without the quotes and blanks that files of variables leave around a value. */
export function toEnvironment(text: string): string {
  return text.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '').toLowerCase();
}

const workplaces = new Set(['', 'development', 'dev', 'test', 'local', 'ci']);

/** `production-eu`, `live` and `staging` too: a name that is not known must not make a deployment unsafe. */
export function isProduction(environment: string): boolean {
  return !workplaces.has(toEnvironment(environment));
}

/** A secret chosen by the operator. It is not required if one of the variables named by `unless` is set. */
export function ownSecret({ unless = [] }: { unless?: string[] } = {}): ProductionRule {
  return (text, { env, isExposed }) => {
    if (text !== undefined && text.trim().length < secretLength && isExposed)
      return `expected at least ${secretLength} characters in production; make one with: openssl rand -hex 32`;
    if (text !== undefined || !isExposed || unless.some((name) => env[name])) return undefined;
    const instead = unless.map((name) => `, or ${name}`).join('');
    return `production that others reach needs it${instead}; make one with: openssl rand -hex 32`;
  };
}

function findUnsafe(schema: z.ZodObject, input: Env, env: Env): { key: string; message: string }[] {
  if (!isProduction(env.NODE_ENV ?? '')) return [];
  const isExposed = !isLoopbackHost(env.HOST || '127.0.0.1') || isTrue(env.TRUST_PROXY_ENABLED);
  const variables = Object.entries(schema.shape).map(([key, field]) => ({ key, ...describe(field) }));
  const examples = variables.flatMap(({ secret, example }) => (secret && example !== undefined ? [example] : []));
  return variables.flatMap(({ key, secret, example, inProduction }) => {
    const text = input[key];
    const isSecret = secret && example !== undefined && text !== undefined;
    let message = inProduction?.(text, { env, isExposed });
    if (isSecret && isUniform(text))
      message = 'hardly any two of its characters differ; make one with: openssl rand -hex 32';
    if (isSecret && examples.some((shown) => holdsExample(text, shown)))
      message = 'this is an example of the documentation; make one with: openssl rand -hex 32';
    return message === undefined ? [] : [{ key, message }];
  });
}

/** Random keys of this length have at least a dozen different characters, in any encoding. */
const fewestCharacters = 8;

function isUniform(text: string): boolean {
  const parts = text.split(',').map((part) => part.trim());
  return parts.some((part) => part.length >= secretLength && new Set(part.toLowerCase()).size < fewestCharacters);
}

/** Whether a secret, or one of a list, is the example in any case or encoding. */
function holdsExample(text: string, example: string): boolean {
  const isKey = /^[0-9a-f]{64}$/.test(example);
  return text.split(',').some((part) => {
    const secret = part.trim();
    if (secret.toLowerCase() === example.toLowerCase()) return true;
    // Multibase has a letter before its base64, and a code before the key.
    const bytes = [secret, secret.slice(1)].map((encoded) => Buffer.from(encoded, 'base64'));
    return isKey && bytes.some((decoded) => decoded.includes(Buffer.from(example, 'hex')));
  });
}
