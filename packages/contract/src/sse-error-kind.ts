import { z } from 'zod';

/** Whose fault an error inside a stream is. */
export const sseErrorKindSchema = z.enum(['model', 'rate_limit', 'timeout', 'limit', 'internal']);

export type SseErrorKind = z.infer<typeof sseErrorKindSchema>;
