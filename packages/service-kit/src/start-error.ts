/**
 * A fault that stops the start. Its message is one clear text for the operator; no stack is shown.
 *
 * @example
 * ```ts
 * import { StartError } from '@palaver/service-kit';
 *
 * export const noKey = new StartError('HERD_KEY is not set: make one with `openssl rand -hex 32`.');
 * ```
 */
export class StartError extends Error {
  override readonly name = 'StartError';
}
