import { z } from 'zod';
import { agentLimits } from './limits.ts';
import { boundedText, didSchema, jsonObjectSchema, named, offsetPageFields, timestampSchema } from './primitives.ts';

export const defaultSessionTitle = 'New chat';

const createSessionFields = z
  .object({ title: boundedText(1, agentLimits.titleCharacters).optional(), metadata: jsonObjectSchema.optional() })
  .meta({ id: 'CreateSession', description: 'The optional body of a new session.' });

// Existing clients send no body, an empty one, or null.
export const createSessionSchema = z.preprocess((body) => body ?? {}, createSessionFields);

export type CreateSession = z.infer<typeof createSessionSchema>;

export const renameSessionSchema = named('RenameSession', 'The new title of a session.', {
  title: boundedText(1, agentLimits.titleCharacters),
});

export const forkSessionSchema = named('ForkSession', 'The last message that the new session shares.', {
  messageId: z.string().min(1).max(agentLimits.titleCharacters),
});

/**
 * A chat session, as `POST /sessions` answers.
 *
 * @example
 * ```ts
 * import { sessionSchema } from '@palaver/contract';
 *
 * export const idOf = (body: unknown) => sessionSchema.parse(body).sessionId;
 * ```
 */
export const sessionSchema = named('Session', 'A chat session.', {
  sessionId: z.string(),
  title: z.string(),
  createdAt: timestampSchema,
  lastUpdatedAt: timestampSchema,
  oracleName: z.string(),
  oracleDid: didSchema,
  roomId: z.string().describe('Derived from the pair of user DID and agent DID.'),
});

/** A chat session. */
export type Session = z.infer<typeof sessionSchema>;

export const sessionListSchema = z
  .object({ sessions: z.array(sessionSchema), ...offsetPageFields })
  .meta({ id: 'SessionList', description: "The user's sessions, newest updated first." });

export type SessionList = z.infer<typeof sessionListSchema>;

export const sessionParamsSchema = z.object({ sessionId: z.string().min(1) }).describe('The session a route is about.');

export const sessionDeletedSchema = z
  .object({ ok: z.literal(true), sessionId: z.string() })
  .meta({ id: 'SessionDeleted', description: 'The session and everything in it are gone.' });
