// What production does not start without. The rules are part of their variables, so that a start, `palaver up` and
// `palaver doctor` all say the same.
import { isLoopbackHost } from './client-address.ts';
import { isTrue } from './env-types.ts';

type Env = Record<string, string | undefined>;

/** What is wrong with a variable in production; `isExposed` where others than this machine reach the service. */
export type ProductionRule = (
  text: string | undefined,
  context: { env: Env; isExposed: boolean },
) => string | undefined;

const secretLength = 32;

/** The name of a deployment environment, without the quotes and blanks that files of variables leave around it. */
export function toEnvironment(text: string): string {
  return text.replace(/^\W+|\W+$/g, '').toLowerCase();
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

export interface CheckedVariable {
  key: string;
  text: string | undefined;
  rule: ProductionRule | undefined;
  /** What the documents show for a secret. */
  example: string | undefined;
}

export function findUnsafe(variables: CheckedVariable[], env: Env): { key: string; message: string }[] {
  if (!isProduction(env.NODE_ENV ?? '')) return [];
  const isExposed = !isLoopbackHost(env.HOST || '127.0.0.1') || isTrue(env.TRUST_PROXY_ENABLED);
  const examples = variables.flatMap(({ example }) => example ?? []);
  return variables.flatMap(({ key, text, rule, example }) => {
    const isSecret = example !== undefined && text !== undefined;
    let message = rule?.(text, { env, isExposed });
    if (isSecret && isUniform(text))
      message = 'hardly any two of its characters differ; make one with: openssl rand -hex 32';
    if (isSecret && examples.some((shown) => holdsExample(text, shown)))
      message = 'this is an example of the documentation; make one with: openssl rand -hex 32';
    return message === undefined ? [] : [{ key, message }];
  });
}

/** Random keys of this length have a dozen different characters at least, whatever they are written in. */
const fewestCharacters = 8;

/** Whether a long secret, or one of a list, is one character again and again, or a few: random bytes never are. */
function isUniform(text: string): boolean {
  const parts = text.split(',').map((part) => part.trim());
  return parts.some((part) => part.length >= secretLength && new Set(part.toLowerCase()).size < fewestCharacters);
}

/** Whether a secret, or one of a list, is the example in whatever letters, or has its bytes in another encoding. */
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
