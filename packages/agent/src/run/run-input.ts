import { type SendMessage, sendMessageSchema } from '@palaver/contract';
import { z } from 'zod';
import type { Turn } from './turn.ts';

const storedInputSchema = z.object({
  sendId: z.string(),
  timezone: z.string().optional(),
  socketId: z.string().optional(),
  body: sendMessageSchema.omit({ message: true }),
});

/** What another instance needs to take a run up, beside the question and the session. */
export interface RunInput {
  sendId: string;
  timezone: string | undefined;
  socketId: string | undefined;
  body: SendMessage;
}

/**
 * Null for a message that came with files or credentials: they are kept in memory alone, so nobody else can continue with
 * them.
 */
export function toStoredInput({ body, sendId, timezone, socketId, blobs }: Turn): string | null {
  if (body.mcpInvocations || body.attachments?.length || blobs.list().length > 0) return null;
  const { message: _, ...rest } = body;
  return JSON.stringify({ sendId, timezone, socketId, body: rest });
}

/** The id of the message a run answers, for plugins; undefined where the input was not stored. */
export function sendIdOf(input: string | null): string | undefined {
  const parsed = storedInputSchema.pick({ sendId: true }).safeParse(JSON.parse(input ?? 'null'));
  return parsed.data?.sendId;
}

/** Undefined where another version stored it in another form. */
export function parseStoredInput(text: string, message: string): RunInput | undefined {
  const parsed = storedInputSchema.safeParse(JSON.parse(text));
  if (!parsed.success) return undefined;
  const { sendId, timezone, socketId, body } = parsed.data;
  return { sendId, timezone, socketId, body: { ...body, message } };
}
