import { z } from 'zod';
import { jsonObjectSchema, named, timestampSchema } from './primitives.ts';
import { callStatuses, endedRunStatuses } from './run-status.ts';
import { approvalSchema, sseErrorKindSchema } from './runs.ts';
import { messageAttachmentSchema } from './send-message.ts';

export const toolCallSchema = named('ToolCall', 'A tool the agent used while it wrote a message.', {
  id: z.string(),
  name: z.string(),
  args: jsonObjectSchema,
  status: z.enum(callStatuses),
  output: z.unknown().optional(),
  error: z.string().optional(),
  parentId: z.string().optional().describe('Of a sub-agent: the call that the sub-agent is.'),
});

/** A tool that the agent used while it wrote a message. */
export type ToolCall = z.infer<typeof toolCallSchema>;

export const messageComponentSchema = z
  .object({ componentName: z.string(), args: jsonObjectSchema, eventId: z.string() })
  .meta({ id: 'MessageComponent', description: 'A component the client draws inside a message.' });

export type MessageComponent = z.infer<typeof messageComponentSchema>;

export const messageFinishes = ['length', 'content_filter', 'step_limit', 'tool_calls'] as const;

export const messageFinishSchema = z
  .enum(messageFinishes)
  .describe(
    'The answer is not whole: it reached the length limit, was filtered by the provider, used up the steps of a turn, or waits for results of tools that the caller runs.',
  );

/** Why an answer is incomplete. */
export type MessageFinish = z.infer<typeof messageFinishSchema>;

export const messageErrorSchema = z
  .object({ message: z.string(), code: z.string(), kind: sseErrorKindSchema, retryable: z.boolean() })
  .meta({ id: 'MessageError', description: 'Why a turn failed.' });

/** Why a turn failed. */
export type MessageError = z.infer<typeof messageErrorSchema>;

const callPart = <Type extends string>(type: Type) => toolCallSchema.extend({ type: z.literal(type) });

export const messagePartSchema = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string() }),
    z.object({ type: z.literal('reasoning'), text: z.string() }),
    callPart('tool_call'),
    callPart('action_call'),
    approvalSchema.extend({ type: z.literal('approval') }),
    messageComponentSchema.extend({ type: z.literal('component') }),
    messageAttachmentSchema.extend({ type: z.literal('file') }),
  ])
  .meta({ id: 'MessagePart', description: 'One part of a message.' });

/** One part of a message: a text, a call, an approval, a component or a file. */
export type MessagePart = z.infer<typeof messagePartSchema>;

/**
 * A message of the user or of the agent.
 *
 * @example
 * ```ts
 * import { messageSchema } from '@palaver/contract';
 *
 * export const contentOf = (message: unknown) => messageSchema.parse(message).content;
 * ```
 */
export const messageSchema = named('Message', 'A message of the user or of the agent.', {
  id: z.string(),
  type: z.enum(['human', 'ai']),
  content: z.string(),
  createdAt: timestampSchema,
  status: z.enum(endedRunStatuses),
  requestId: z.string(),
  parts: z
    .array(messagePartSchema)
    .optional()
    .describe('`content` and the fields below in the order in which they came. Always there, but for older servers.'),
  finish: messageFinishSchema.optional(),
  error: messageErrorSchema.optional(),
  toolCalls: z.array(toolCallSchema).optional(),
  approvals: z.array(approvalSchema).optional(),
  reasoning: z.string().optional(),
  attachments: z.array(messageAttachmentSchema).optional(),
  replaces: z.string().optional().describe('The id of the question whose place this one has taken.'),
  components: z.array(messageComponentSchema).optional(),
});

/** A message of the user or of the agent. */
export type Message = z.infer<typeof messageSchema>;

export const messageListSchema = named('MessageList', 'All messages of a session, oldest first.', {
  messages: z.array(messageSchema),
});

const cursorSchema = z.string().nullable();

export const messagePageSchema = named('MessagePage', 'A page of the messages of a session, oldest first.', {
  messages: z.array(messageSchema),
  prevCursor: cursorSchema.describe('Give it as `before` for the older page; null when there is none.'),
  nextCursor: cursorSchema.describe('Give it as `after` for the newer page; null when there is none.'),
  hasOlder: z.boolean(),
  hasNewer: z.boolean(),
});

export type MessagePage = z.infer<typeof messagePageSchema>;

/**
 * The answer to a message that is sent without `stream`.
 *
 * @example
 * ```ts
 * import { sendMessageReplySchema } from '@palaver/contract';
 *
 * export const answerOf = async (reply: Response) => sendMessageReplySchema.parse(await reply.json()).message.content;
 * ```
 */
export const sendMessageReplySchema = named('SendMessageReply', 'The answer to a message sent without stream.', {
  sessionId: z.string(),
  requestId: z.string(),
  message: messageSchema,
  messages: z.array(messageSchema).optional().describe('With returnAllMessages: the whole transcript.'),
});
