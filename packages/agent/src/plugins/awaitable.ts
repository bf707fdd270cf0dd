/**
 * A value, or a promise of it.
 *
 * @example
 * ```ts
 * import type { Awaitable } from '@palaver/agent';
 *
 * export const read = async (value: Awaitable<number>) => (await value) + 1;
 * ```
 */
export type Awaitable<T> = T | Promise<T>;
