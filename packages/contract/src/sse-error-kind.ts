import { z } from 'zod';

/** The kind of an error inside a stream. */
export const sseErrorKindSchema = z.enum(['model', 'rate_limit', 'timeout', 'limit', 'internal']);

/**
 * The kind of an error inside a stream.
 *
 * @example
 * ```ts
 * import type { SseErrorKind } from '@palaver/contract';
 *
 * export const isOurs = (kind: SseErrorKind) => kind === 'internal';
 * ```
 */
export type SseErrorKind = z.infer<typeof sseErrorKindSchema>;
