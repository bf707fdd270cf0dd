import { z } from 'zod';

/**
 * The body of every error reply.
 *
 * @example
 * ```ts
 * import { errorBodySchema } from '@palaver/contract';
 *
 * export const codeOf = async (reply: Response) => errorBodySchema.parse(await reply.json()).code;
 * ```
 */
export const errorBodySchema = z
  .looseObject({ statusCode: z.int(), error: z.string(), message: z.string(), code: z.string() })
  .meta({ id: 'Error', description: 'Every error of every service; some errors have further fields.' });

/** The body of every error reply. */
export type ErrorBody = z.infer<typeof errorBodySchema>;
