// What `NODE_ENV=production` does not start without. The rules are part of their variables, so that a start, `palaver up` and
// `palaver doctor` all say the same.
import { isLoopbackAddress } from './client-address.ts';

type Env = Record<string, string | undefined>;

/** What is wrong with a variable in production; `isExposed` where others than this machine reach the service. */
export type ProductionRule = (
  text: string | undefined,
  context: { env: Env; isExposed: boolean },
) => string | undefined;

const secretLength = 32;
/** Other secrets are addresses and the like, whose examples nobody can use. */
const isKey = /^[0-9a-f]{64}$/;

/** A secret chosen by the operator. It is not required if the variable named by `unless` is set. */
export function ownSecret({ unless }: { unless?: string } = {}): ProductionRule {
  return (text, { env, isExposed }) => {
    if (text !== undefined && text.length < secretLength && isExposed)
      return `expected at least ${secretLength} characters in production; make one with: openssl rand -hex 32`;
    if (text !== undefined || !isExposed || (unless !== undefined && env[unless])) return undefined;
    const instead = unless === undefined ? '' : `, or ${unless}`;
    return `production on an address that others reach needs it${instead}; make one with: openssl rand -hex 32`;
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
  if (env.NODE_ENV !== 'production') return [];
  const host = env.HOST || '127.0.0.1';
  const isExposed = host !== 'localhost' && !isLoopbackAddress(host);
  return variables.flatMap(({ key, text, rule, example = '' }) => {
    const message =
      isKey.test(example) && text?.split(',').includes(example)
        ? 'this is the example of the documentation; make one with: openssl rand -hex 32'
        : rule?.(text, { env, isExposed });
    return message === undefined ? [] : [{ key, message }];
  });
}
