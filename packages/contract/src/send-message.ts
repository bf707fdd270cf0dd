import { z } from 'zod';
import { agentLimits } from './limits.ts';
import {
  clientIdPattern,
  matrixEventIdPattern,
  messageIdPattern,
  mimeTypePattern,
  mxcUriPattern,
  noControlCharactersPattern,
  toolNamePattern,
  uuidPattern,
  visibleAsciiPattern,
} from './patterns.ts';
import { boundedText, jsonObjectSchema, modelIdSchema, named, timeZoneSchema, ucanTokenSchema } from './primitives.ts';

const filenameSchema = boundedText(1, 255).regex(noControlCharactersPattern, {
  error: 'must not contain control characters',
});

const fileIdSchema = z.string().regex(uuidPattern, { error: 'must be the id of an uploaded file' });

export const uploadQuerySchema = z.object({ filename: filenameSchema }).describe('What the file is called.');

export const fileParamsSchema = z.object({ fileId: fileIdSchema }).describe('The file a route is about.');

export const uploadedFileSchema = z
  .object({
    fileId: fileIdSchema,
    filename: filenameSchema,
    mimetype: z.string().describe('What the file is by its content.'),
    size: z.int().nonnegative(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'UploadedFile', description: 'A file that its owner can send as an attachment and read again.' });

export type UploadedFile = z.infer<typeof uploadedFileSchema>;

const toolNameSchema = z
  .string()
  .regex(toolNamePattern, { error: 'must be 1 to 64 letters, digits, underscores or hyphens' });

export const browserToolSchema = z
  .object({ name: toolNameSchema, description: z.string(), schema: jsonObjectSchema })
  .meta({
    id: 'BrowserTool',
    description: 'A tool that runs on the page; `schema` is the JSON Schema of its arguments.',
  });

/** A tool that the client runs. */
export type BrowserTool = z.infer<typeof browserToolSchema>;

const agActionSchema = named('AgAction', 'An AG-UI action; `schema` is the JSON Schema of its arguments.', {
  name: toolNameSchema,
  description: z.string(),
  schema: jsonObjectSchema,
  hasRender: z.boolean().optional().describe('Whether the page draws the action itself.'),
});

export type AgAction = z.infer<typeof agActionSchema>;

const attachmentFields = z.object({
  mxcUri: z.string().regex(mxcUriPattern, { error: 'must be mxc://server/media-id' }).optional(),
  eventId: z.string().regex(matrixEventIdPattern, { error: 'must be a Matrix event id, $…' }).optional(),
  fileId: fileIdSchema.optional().describe('A file uploaded by `POST /files`.'),
  filename: filenameSchema,
  mimetype: z.string().regex(mimeTypePattern, { error: 'must be a media type, for example image/png, or empty' }),
});

/** As Matrix writes it in the `file` of an event: where the sealed bytes are, and the key that opens them. */
export const encryptedFileSchema = z
  .object({
    url: z.string().regex(mxcUriPattern, { error: 'must be mxc://server/media-id' }),
    key: z.object({ k: z.string().max(100), alg: z.literal('A256CTR') }),
    iv: z.string().max(100),
    hashes: z.object({ sha256: z.string().max(100) }),
  })
  .meta({ id: 'EncryptedFile', description: 'A file of an encrypted room, with its key. The key is not stored.' });

export type EncryptedFile = z.infer<typeof encryptedFileSchema>;

export const attachmentSchema = attachmentFields
  .extend({ file: encryptedFileSchema.optional() })
  .refine(({ mxcUri, eventId, file, fileId }) => [mxcUri, eventId, file, fileId].some((place) => place !== undefined), {
    error: 'needs fileId, mxcUri, eventId or file',
  })
  .meta({
    id: 'Attachment',
    description: 'A file uploaded to the agent, or one on the Matrix homeserver of the user.',
    anyOf: [{ required: ['fileId'] }, { required: ['mxcUri'] }, { required: ['eventId'] }, { required: ['file'] }],
  });

/** A file that is sent with a message. */
export type Attachment = z.infer<typeof attachmentSchema>;

export const messageAttachmentSchema = attachmentFields.meta({
  id: 'MessageAttachment',
  description: 'A file that came with a message.',
});

export type MessageAttachment = z.infer<typeof messageAttachmentSchema>;

/**
 * The body of `POST /messages/:sessionId`.
 *
 * @example
 * ```ts
 * import { sendMessageSchema } from '@palaver/contract';
 *
 * export const { message, stream } = sendMessageSchema.parse({ message: 'Will it rain?', stream: true });
 * ```
 */
export const sendMessageSchema = named('SendMessageDto', 'A message to the agent.', {
  message: boundedText(1, agentLimits.messageCharacters),
  stream: z.boolean().default(false).describe('true: an SSE stream; otherwise one JSON reply.'),
  returnAllMessages: z.boolean().default(false).describe('Without stream: the whole transcript too.'),
  model: modelIdSchema.optional(),
  tools: z.array(browserToolSchema).max(agentLimits.declaredTools).optional(),
  agActions: z.array(agActionSchema).max(agentLimits.declaredTools).optional(),
  attachments: z.array(attachmentSchema).max(agentLimits.attachments).optional(),
  replaces: z
    .string()
    .regex(messageIdPattern, { error: 'must be the id of a message' })
    .optional()
    .describe(
      'A question of this session whose place this message takes: it and everything after it leave the conversation.',
    ),
  messageId: z
    .string()
    .regex(clientIdPattern, { error: 'must be a UUID of version 4' })
    .optional()
    .describe('The id that the question gets, so that the page can show it at once; one that is taken is 409.'),
  mcpInvocations: z
    .record(z.string().min(1).max(200), ucanTokenSchema)
    .refine((map) => Object.keys(map).length <= agentLimits.declaredTools, {
      error: `must have at most ${agentLimits.declaredTools} entries`,
    })
    .optional()
    .describe('MCP tool name (`server__tool`) to the invocation it is called with.'),
  timezone: timeZoneSchema.optional(),
  homeServer: z
    .string()
    .max(2048)
    .regex(visibleAsciiPattern, { error: 'must be a Matrix homeserver' })
    .optional()
    .describe("The user's Matrix homeserver."),
  metadata: jsonObjectSchema
    .refine((metadata) => new TextEncoder().encode(JSON.stringify(metadata)).length <= agentLimits.metadataBytes, {
      error: `must have at most ${agentLimits.metadataBytes} bytes`,
    })
    .optional(),
});

/** After parsing: defaults are filled in. */
export type SendMessage = z.output<typeof sendMessageSchema>;
export type SendMessageInput = z.input<typeof sendMessageSchema>;

export const phoneNote =
  'The user reads on a phone by USSD: answer in plain text without marks, in a few short sentences.';

export const phoneContextSchema = named('PhoneContext', 'The `metadata` of a question that was typed on a phone.', {
  client: z.literal('phone'),
  channel: z.literal('ussd').optional(),
  language: z
    .string()
    .regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/)
    .optional()
    .describe('The language of the menus, as a tag such as `sw`.'),
  screenCharacters: z.int().min(20).max(10_000).optional().describe('What one screen holds.'),
});

/** A phone that a question comes from. */
export type PhoneContext = z.infer<typeof phoneContextSchema>;

export const abortSchema = z.object({ sessionId: z.string().min(1), runId: z.string().min(1).optional() }).meta({
  id: 'Abort',
  description: 'The session whose turn is to stop; with `runId`, that run alone, also where it waits behind another.',
});

export const abortReplySchema = named('AbortReply', 'The answer to an abort.', {
  ok: z.literal(true),
  aborted: z.boolean().describe('Whether a turn was running or waiting.'),
  success: z.boolean().describe('The same as aborted, for existing clients.'),
});
