import { z } from 'zod';

/** Whose fault an error inside a stream is. */
export const sseErrorKindSchema = z.enum(['model', 'rate_limit', 'timeout', 'limit', 'internal']);

/**
 * Whose fault an error inside a stream is.
 *
 * @example
 * ```ts
 * import type { SseErrorKind } from '@palaver/contract';
 *
 * export const isOurs = (kind: SseErrorKind) => kind === 'internal';
 * ```
 */
export type SseErrorKind = z.infer<typeof sseErrorKindSchema>;
