/**
 * Which database a store is on.
 *
 * @example
 * ```ts
 * import type { Engine } from '@palaver/store';
 *
 * export const hasOneWriter = (engine: Engine) => engine === 'sqlite';
 * ```
 */
export type Engine = 'sqlite' | 'postgres';
