import { z } from 'zod';
import { answerApprovalSchema } from './approvals.ts';
import type { ClientEventName, ServerEventName } from './event-catalogue.ts';
import { timestampSchema, ucanTokenSchema } from './primitives.ts';
import { type SseEventData, sseEventDataSchemas } from './sse-events.ts';

// Like a header: empty is missing. Clients send null for what they do not have.
const credentialSchema = z.preprocess((token) => token || undefined, ucanTokenSchema.optional());

/** The `auth` object of a handshake: the invocation counts, the delegation is the fallback. */
export const socketAuthSchema = z
  .object({ invocation: credentialSchema, ucanDelegation: credentialSchema })
  .meta({ description: 'Credentials of a WebSocket handshake.' });

export const socketQuerySchema = z
  .object({ sessionId: z.string().min(1) })
  .meta({ description: 'Query of a WebSocket handshake.' });

const catalogueSchema = z.array(z.object({ name: z.string(), description: z.string() }));
const { tool_call, action_call, approval_request, browser_tool_call, render_component, router_update } =
  sseEventDataSchemas;

/** The payload of every event the server sends, by event name. */
export const serverEventPayloadSchemas = {
  connected: z
    .object({
      sessionId: z.string(),
      did: z.string(),
      socketId: z
        .string()
        .optional()
        .meta({ description: 'Send it as `x-socket-id` with a message, and its tool calls come to this socket.' }),
      timestamp: timestampSchema,
    })
    .meta({ id: 'SocketConnected', description: 'The handshake is accepted and the session joined.' }),
  pong: z.object({ timestamp: timestampSchema }).meta({ id: 'SocketPong', description: 'The answer to ping.' }),
  status: z
    .object({
      connected: z.boolean(),
      sessionId: z.string(),
      did: z.string(),
      activeSessions: z.int().min(0),
      totalConnections: z.int().min(0),
      uptime: z.number().min(0).meta({ description: 'Seconds.' }),
      timestamp: timestampSchema,
    })
    .meta({ id: 'SocketStatus', description: 'The answer to status.' }),
  subscribed: z
    .object({ sessionId: z.string(), events: z.array(z.string()) })
    .meta({ id: 'SocketSubscribed', description: 'The answer to subscribe.' }),
  'available-events': z
    .object({ serverEvents: catalogueSchema, clientEvents: catalogueSchema })
    .meta({ id: 'SocketAvailableEvents', description: 'The answer to list-events.' }),
  tool_call,
  // The two requests to a page: outcomes appear in the stream only.
  action_call: action_call
    .omit({ output: true, error: true, part: true })
    .extend({ status: z.literal('isRunning') })
    .meta({ id: 'ActionRequest', description: 'The page is asked to run an AG-UI action.' }),
  browser_tool_call: browser_tool_call
    .omit({ status: true, output: true, error: true, part: true })
    .meta({ id: 'BrowserToolRequest', description: 'The page is asked to run one of its tools.' }),
  approval_request,
  render_component,
  router_update,
  message_cache_invalidation: z
    .object({ sessionId: z.string(), messageId: z.string().optional() })
    .meta({ id: 'MessageCacheInvalidation', description: 'Without messageId: every message of the session.' }),
  error: z
    .object({ code: z.string(), message: z.string() })
    .meta({ id: 'SocketError', description: 'Why the connection is about to be closed.' }),
} satisfies Record<ServerEventName, z.ZodObject>;

// A page may send what it caught instead of a text. That is a failure too: if it were ignored, the turn would wait.
const clientErrorSchema = z.preprocess((error) => {
  if (!error || typeof error === 'string') return error || undefined;
  const message = typeof error === 'object' && 'message' in error ? error.message : undefined;
  return typeof message === 'string' ? message : JSON.stringify(error);
}, z.string().optional());

/** The payload of every event a client sends; events without one take anything. */
export const clientEventPayloadSchemas = {
  ping: z.unknown(),
  status: z.unknown(),
  subscribe: z.unknown(),
  'list-events': z.unknown(),
  tool_result: z
    .object({ toolCallId: z.string().min(1), result: z.unknown().optional(), error: clientErrorSchema })
    .meta({ id: 'ToolResult', description: 'What a tool of the page answered.' }),
  action_call_result: z
    .object({
      sessionId: z.string().min(1),
      toolCallId: z.string().min(1),
      result: z.unknown().optional(),
      error: clientErrorSchema,
    })
    .meta({ id: 'ActionCallResult', description: 'What an AG-UI action answered.' }),
  approval_response: answerApprovalSchema
    .extend({ runId: z.string().min(1), approvalId: z.string().min(1) })
    .meta({ id: 'ApprovalResponse', description: 'Whether a tool may run.' }),
} satisfies Record<ClientEventName, z.ZodType>;

/**
 * The payload of every event that the server sends over a socket, by event name.
 *
 * @example
 * ```ts
 * import type { ServerEventPayload } from '@palaver/contract';
 *
 * export const toQuestion = ({ toolName }: ServerEventPayload['approval_request']) => `May ${toolName} run?`;
 * ```
 */
export type ServerEventPayload = { [Name in ServerEventName]: z.infer<(typeof serverEventPayloadSchemas)[Name]> };

/**
 * The payload of every event that a client sends over a socket, by event name.
 *
 * @example
 * ```ts
 * import type { ClientEventPayload } from '@palaver/contract';
 *
 * export const approve = (runId: string, approvalId: string): ClientEventPayload['approval_response'] => {
 *   return { runId, approvalId, approved: true };
 * };
 * ```
 */
export type ClientEventPayload = { [Name in ClientEventName]: z.infer<(typeof clientEventPayloadSchemas)[Name]> };

type Enveloped<Payloads> = { [Name in keyof Payloads]: { eventName: Name; payload: Payloads[Name] } }[keyof Payloads];

/** Any event a client receives, streamed or by socket, distinguished by `eventName`. */
export type AnyEvent = Enveloped<SseEventData> | Enveloped<ServerEventPayload>;
