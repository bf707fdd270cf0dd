import { z } from 'zod';
import type { ClientEventName, ServerEventName } from './event-catalogue.ts';
import { messageFinishSchema } from './messages.ts';
import { jsonObjectSchema, named, timestampSchema, ucanTokenSchema } from './primitives.ts';
import { callStatuses, endedRunStatuses } from './run-status.ts';
import { answerApprovalSchema, approvalSchema, sseErrorKindSchema } from './runs.ts';

const turnFields = { sessionId: z.string(), requestId: z.string() };
const partField = {
  part: z.int().min(0).optional().describe('The index in `parts` of the message that this belongs to.'),
};
const outcomeFields = {
  ...partField,
  status: z.enum(callStatuses),
  output: z.unknown().optional(),
  error: z.string().optional(),
};
const callFields = { ...turnFields, toolCallId: z.string(), toolName: z.string(), args: jsonObjectSchema };

const progressSchema = z
  .object({ value: z.number(), total: z.number().optional(), message: z.string().optional() })
  .describe('How far a tool that still runs is.');

export const sseEventDataSchemas = {
  run: named('RunEvent', 'Always first: the run that can be resumed by its id.', {
    runId: z.string(),
    ...turnFields,
    messageId: z.string().optional().describe('The id under which the answer will be stored.'),
    userMessageId: z.string().optional().describe('The id of the stored question.'),
  }),
  message: z
    .object({ content: z.string(), timestamp: timestampSchema, ...partField })
    .meta({ id: 'MessageEvent', description: 'The next piece of the answer.' }),
  reasoning: z
    .object({ ...turnFields, reasoning: z.string(), isComplete: z.boolean(), ...partField })
    .meta({ id: 'ReasoningEvent', description: "The next piece of the model's reasoning." }),
  tool_call: named('ToolCallEvent', 'A tool starts, reports progress, and ends.', {
    ...turnFields,
    eventId: z.string(),
    toolName: z.string(),
    args: jsonObjectSchema,
    ...outcomeFields,
    progress: progressSchema.optional(),
    parentId: z.string().optional().describe('Of a sub-agent: the call that the sub-agent is.'),
  }),
  action_call: z
    .object({ ...callFields, ...outcomeFields })
    .meta({ id: 'ActionCallEvent', description: 'An AG-UI action starts, and again when it ends.' }),
  approval_request: approvalSchema.extend({ ...turnFields, runId: z.string(), ...partField }).meta({
    id: 'ApprovalRequestEvent',
    description: 'A tool waits for the user, and again when the user has answered or the time is over.',
  }),
  render_component: named('RenderComponentEvent', 'A component for the client to draw.', {
    ...turnFields,
    eventId: z.string(),
    componentName: z.string(),
    args: jsonObjectSchema,
    status: z.enum(callStatuses),
    ...partField,
  }),
  browser_tool_call: z
    .object({ ...callFields, ...outcomeFields })
    .meta({ id: 'BrowserToolCallEvent', description: 'A tool of the page starts, and again when it ends.' }),
  router_update: z
    .object({ ...turnFields, from: z.string().optional(), to: z.string(), reason: z.string().optional() })
    .meta({ id: 'RouterUpdateEvent', description: 'The turn went from one agent or sub-agent to another.' }),
  error: named('ErrorEvent', 'The turn failed; `done` still follows.', {
    error: z.string().describe('Human text.'),
    code: z.string(),
    kind: sseErrorKindSchema,
    retryable: z.boolean(),
    timestamp: timestampSchema,
  }),
  done: named('DoneEvent', 'Always last, also after abort and error.', {
    runId: z.string(),
    messageId: z.string(),
    status: z.enum(endedRunStatuses),
    finish: messageFinishSchema.optional(),
    usage: z
      .object({ inputTokens: z.int(), outputTokens: z.int() })
      .optional()
      .describe('The tokens that the language models of this run have used.'),
  }),
};

/** The name of an event of the stream. */
export type SseEventName = keyof typeof sseEventDataSchemas;
/** The data of every event of a run, by event name. */
export type SseEventData = { [Name in SseEventName]: z.infer<(typeof sseEventDataSchemas)[Name]> };
/** One event of the stream, distinguished by `name`. */
export type SseEvent = { [Name in SseEventName]: { name: Name; data: SseEventData[Name] } }[SseEventName];

const event = <Name extends SseEventName>(name: Name) =>
  z.object({ name: z.literal(name), data: sseEventDataSchemas[name] });

/**
 * One event of the stream: `event:` is its name, `data:` its JSON.
 *
 * @example
 * ```ts
 * import { sseEventSchema } from '@palaver/contract';
 *
 * export const parseFrame = (name: string, data: string) => sseEventSchema.parse({ name, data: JSON.parse(data) });
 * ```
 */
export const sseEventSchema = z
  .discriminatedUnion('name', [
    event('run'),
    event('message'),
    event('reasoning'),
    event('tool_call'),
    event('action_call'),
    event('approval_request'),
    event('render_component'),
    event('browser_tool_call'),
    event('router_update'),
    event('error'),
    event('done'),
  ])
  .meta({ id: 'SseEvent', description: 'One event of a streamed turn: `event:` is the name, `data:` the JSON.' });

// Like a header: empty is missing. Clients send null for what they do not have.
const credentialSchema = z.preprocess((token) => token || undefined, ucanTokenSchema.optional());

/** The `auth` object of a handshake: the invocation counts, the delegation is the fallback. */
export const socketAuthSchema = z
  .object({ invocation: credentialSchema, ucanDelegation: credentialSchema })
  .describe('Credentials of a WebSocket handshake.');

export const socketQuerySchema = z.object({ sessionId: z.string().min(1) }).describe('Query of a WebSocket handshake.');

const catalogueSchema = z.array(z.object({ name: z.string(), description: z.string() }));
const { tool_call, action_call, approval_request, browser_tool_call, render_component, router_update } =
  sseEventDataSchemas;

export const serverEventPayloadSchemas = {
  connected: named('SocketConnected', 'The handshake is accepted and the session joined.', {
    sessionId: z.string(),
    did: z.string(),
    socketId: z
      .string()
      .optional()
      .describe('Send it as `x-socket-id` with a message, and its tool calls come to this socket.'),
    timestamp: timestampSchema,
  }),
  pong: named('SocketPong', 'The answer to ping.', { timestamp: timestampSchema }),
  status: named('SocketStatus', 'The answer to status.', {
    connected: z.boolean(),
    sessionId: z.string(),
    did: z.string(),
    activeSessions: z.int().min(0),
    totalConnections: z.int().min(0),
    uptime: z.number().min(0).describe('Seconds.'),
    timestamp: timestampSchema,
  }),
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
  error: named('SocketError', 'Why the connection is about to be closed.', { code: z.string(), message: z.string() }),
} satisfies Record<ServerEventName, z.ZodObject>;

// A page may send what it caught instead of a text. That is a failure too: if it were ignored, the turn would wait.
const clientErrorSchema = z.preprocess((error) => {
  if (!error || typeof error === 'string') return error || undefined;
  const message = typeof error === 'object' && 'message' in error ? error.message : undefined;
  return typeof message === 'string' ? message : JSON.stringify(error);
}, z.string().optional());

export const clientEventPayloadSchemas = {
  ping: z.unknown(),
  status: z.unknown(),
  subscribe: z.unknown(),
  'list-events': z.unknown(),
  tool_result: z
    .object({ toolCallId: z.string().min(1), result: z.unknown().optional(), error: clientErrorSchema })
    .meta({ id: 'ToolResult', description: 'What a tool of the page answered.' }),
  action_call_result: named('ActionCallResult', 'What an AG-UI action answered.', {
    sessionId: z.string().min(1),
    toolCallId: z.string().min(1),
    result: z.unknown().optional(),
    error: clientErrorSchema,
  }),
  approval_response: answerApprovalSchema
    .extend({ runId: z.string().min(1), approvalId: z.string().min(1) })
    .meta({ id: 'ApprovalResponse', description: 'Whether a tool may run.' }),
} satisfies Record<ClientEventName, z.ZodType>;

/** The payload of every event that the server sends over a socket, by event name. */
export type ServerEventPayload = { [Name in ServerEventName]: z.infer<(typeof serverEventPayloadSchemas)[Name]> };

/** The payload of every event that a client sends over a socket, by event name. */
export type ClientEventPayload = { [Name in ClientEventName]: z.infer<(typeof clientEventPayloadSchemas)[Name]> };

type Enveloped<Payloads> = { [Name in keyof Payloads]: { eventName: Name; payload: Payloads[Name] } }[keyof Payloads];

export type AnyEvent = Enveloped<SseEventData> | Enveloped<ServerEventPayload>;
