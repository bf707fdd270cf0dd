import { z } from 'zod';
import { approvalSchema } from './approvals.ts';
import { messageFinishSchema } from './messages.ts';
import { jsonObjectSchema, timestampSchema } from './primitives.ts';
import { callStatuses, endedRunStatuses } from './run-status.ts';
import { sseErrorKindSchema } from './sse-error-kind.ts';

const turnFields = { sessionId: z.string(), requestId: z.string() };
const partField = {
  part: z.int().min(0).optional().meta({ description: 'The index in `parts` of the message that this belongs to.' }),
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
  .meta({ description: 'How far a tool that still runs is.' });

/** The data of every event of the stream, by event name. */
export const sseEventDataSchemas = {
  run: z
    .object({
      runId: z.string(),
      ...turnFields,
      messageId: z.string().optional().meta({ description: 'The id under which the answer will be stored.' }),
      userMessageId: z.string().optional().meta({ description: 'The id of the stored question.' }),
    })
    .meta({ id: 'RunEvent', description: 'Always first: the run that can be resumed by its id.' }),
  message: z
    .object({ content: z.string(), timestamp: timestampSchema, ...partField })
    .meta({ id: 'MessageEvent', description: 'The next piece of the answer.' }),
  reasoning: z
    .object({ ...turnFields, reasoning: z.string(), isComplete: z.boolean(), ...partField })
    .meta({ id: 'ReasoningEvent', description: "The next piece of the model's reasoning." }),
  tool_call: z
    .object({
      ...turnFields,
      eventId: z.string(),
      toolName: z.string(),
      args: jsonObjectSchema,
      ...outcomeFields,
      progress: progressSchema.optional(),
      parentId: z.string().optional().meta({ description: 'Of a sub-agent: the call that the sub-agent is.' }),
    })
    .meta({ id: 'ToolCallEvent', description: 'A tool starts, reports progress, and ends.' }),
  action_call: z
    .object({ ...callFields, ...outcomeFields })
    .meta({ id: 'ActionCallEvent', description: 'An AG-UI action starts, and again when it ends.' }),
  approval_request: approvalSchema.extend({ ...turnFields, runId: z.string(), ...partField }).meta({
    id: 'ApprovalRequestEvent',
    description: 'A tool waits for the user, and again when the user has answered or the time is over.',
  }),
  render_component: z
    .object({
      ...turnFields,
      eventId: z.string(),
      componentName: z.string(),
      args: jsonObjectSchema,
      status: z.enum(callStatuses),
      ...partField,
    })
    .meta({ id: 'RenderComponentEvent', description: 'A component for the client to draw.' }),
  browser_tool_call: z
    .object({ ...callFields, ...outcomeFields })
    .meta({ id: 'BrowserToolCallEvent', description: 'A tool of the page starts, and again when it ends.' }),
  router_update: z
    .object({ ...turnFields, from: z.string().optional(), to: z.string(), reason: z.string().optional() })
    .meta({ id: 'RouterUpdateEvent', description: 'The turn went from one agent or sub-agent to another.' }),
  error: z
    .object({
      error: z.string().meta({ description: 'Human text.' }),
      code: z.string(),
      kind: sseErrorKindSchema,
      retryable: z.boolean(),
      timestamp: timestampSchema,
    })
    .meta({ id: 'ErrorEvent', description: 'The turn failed; `done` still follows.' }),
  done: z
    .object({
      runId: z.string(),
      messageId: z.string(),
      status: z.enum(endedRunStatuses),
      finish: messageFinishSchema.optional(),
      usage: z
        .object({ inputTokens: z.int(), outputTokens: z.int() })
        .optional()
        .meta({ description: 'The tokens that the language models of this run have used.' }),
    })
    .meta({ id: 'DoneEvent', description: 'Always last, also after abort and error.' }),
};

/**
 * The name of an event of the stream.
 *
 * @example
 * ```ts
 * import type { SseEventName } from '@palaver/contract';
 *
 * export const isText = (name: SseEventName) => name === 'message';
 * ```
 */
export type SseEventName = keyof typeof sseEventDataSchemas;
/**
 * The data of every event of a run, by event name.
 *
 * @example
 * ```ts
 * import type { SseEventData } from '@palaver/agent';
 *
 * export const wordsOf = ({ content }: SseEventData['message']) => content.split(' ');
 * ```
 */
export type SseEventData = { [Name in SseEventName]: z.infer<(typeof sseEventDataSchemas)[Name]> };
/**
 * One event of the stream, distinguished by `name`.
 *
 * @example
 * ```ts
 * import type { SseEvent } from '@palaver/agent';
 *
 * export const isLast = ({ name }: SseEvent) => name === 'done';
 * ```
 */
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
