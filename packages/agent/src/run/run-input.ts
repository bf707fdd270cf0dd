import { type SendMessage, sendMessageSchema } from '@palaver/contract';
import { browserToolSchema } from '@palaver/contract/internal';
import { z } from 'zod';
import type { StoredMessage } from '../store/messages.ts';
import type { Turn } from './turn.ts';

const storedInputSchema = z.object({
  sendId: z.string(),
  timezone: z.string().optional(),
  socketId: z.string().optional(),
  client: z.string().optional(),
  isKeyed: z.boolean().optional(),
  callerTools: z.array(browserToolSchema).optional(),
  context: z.array(z.string()).optional(),
  call: z.object({ name: z.string(), args: z.record(z.string(), z.unknown()) }).optional(),
  body: sendMessageSchema.omit({ message: true }),
});

/** What another instance needs to take over a run, in addition to the session. */
export interface RunInput
  extends Pick<
    Turn,
    | 'sendId'
    | 'timezone'
    | 'socketId'
    | 'client'
    | 'isKeyed'
    | 'callerTools'
    | 'context'
    | 'results'
    | 'earlier'
    | 'call'
  > {
  body: SendMessage;
}

/**
 * Null for a message that came with credentials, or with files that are not stored here: they are kept in memory alone, so
 * nobody else can continue with them.
 */
export function toStoredInput({ body, blobs, ...turn }: Turn): string | null {
  const hasFiles = body.attachments?.length || blobs.list().length > 0;
  if (body.mcpInvocations || (hasFiles && !blobs.areStored())) return null;
  const { message: _, ...rest } = body;
  const { sendId, timezone, socketId, client, isKeyed, callerTools, context, call } = turn;
  return JSON.stringify({ sendId, timezone, socketId, client, isKeyed, callerTools, context, call, body: rest });
}

/** The id of the message a run answers, for plugins; undefined if the input was not stored. */
export function sendIdOf(input: string | null): string | undefined {
  const parsed = storedInputSchema.pick({ sendId: true }).safeParse(JSON.parse(input ?? 'null'));
  return parsed.data?.sendId;
}

/** Undefined if another version stored it in another form. */
export function parseStoredInput(text: string, question: StoredMessage): RunInput | undefined {
  const parsed = storedInputSchema.safeParse(JSON.parse(text));
  if (!parsed.success) return undefined;
  const { body, ...input } = parsed.data;
  const { content: message, toolCalls: results, earlier } = question;
  return { timezone: undefined, ...input, results, earlier, body: { ...body, message } };
}
