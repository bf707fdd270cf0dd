import { z } from 'zod';
import { jsonObjectSchema, timestampSchema } from './primitives.ts';
import { callStatuses, endedRunStatuses } from './run-status.ts';
import { messageAttachmentSchema } from './send-message.ts';

export const toolCallSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    args: jsonObjectSchema,
    status: z.enum(callStatuses),
    output: z.unknown().optional(),
    error: z.string().optional(),
  })
  .meta({ id: 'ToolCall', description: 'A tool the agent used while it wrote a message.' });

export type ToolCall = z.infer<typeof toolCallSchema>;

export const messageComponentSchema = z
  .object({ componentName: z.string(), args: jsonObjectSchema, eventId: z.string() })
  .meta({ id: 'MessageComponent', description: 'A component the client draws inside a message.' });

export type MessageComponent = z.infer<typeof messageComponentSchema>;

export const messageSchema = z
  .object({
    id: z.string(),
    type: z.enum(['human', 'ai']),
    content: z.string(),
    createdAt: timestampSchema,
    status: z.enum(endedRunStatuses),
    requestId: z.string(),
    toolCalls: z.array(toolCallSchema).optional(),
    reasoning: z.string().optional(),
    attachments: z.array(messageAttachmentSchema).optional(),
    components: z.array(messageComponentSchema).optional(),
  })
  .meta({ id: 'Message', description: 'A message of the user or of the agent.' });

export type Message = z.infer<typeof messageSchema>;

export const messageListSchema = z
  .object({ messages: z.array(messageSchema) })
  .meta({ id: 'MessageList', description: 'All messages of a session, oldest first.' });

export type MessageList = z.infer<typeof messageListSchema>;

const cursorSchema = z.string().nullable();

export const messagePageSchema = z
  .object({
    messages: z.array(messageSchema),
    prevCursor: cursorSchema.meta({ description: 'Give it as `before` for the older page; null when there is none.' }),
    nextCursor: cursorSchema.meta({ description: 'Give it as `after` for the newer page; null when there is none.' }),
    hasOlder: z.boolean(),
    hasNewer: z.boolean(),
  })
  .meta({ id: 'MessagePage', description: 'A page of the messages of a session, oldest first.' });

export type MessagePage = z.infer<typeof messagePageSchema>;

export const sendMessageReplySchema = z
  .object({
    sessionId: z.string(),
    requestId: z.string(),
    message: messageSchema,
    messages: z.array(messageSchema).optional().meta({ description: 'With returnAllMessages: the whole transcript.' }),
  })
  .meta({ id: 'SendMessageReply', description: 'The answer to a message sent without stream.' });

export type SendMessageReply = z.infer<typeof sendMessageReplySchema>;
