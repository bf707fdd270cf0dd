import type { ValidationIssue } from './error-body.ts';

/** The field errors of a refused value, from the issues of any zod error. */
export function toValidationIssues(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): ValidationIssue[] {
  return issues.map(({ path, message }) => ({ path: path.map(String).join('.'), message }));
}
