import {
  type AgentRun,
  type CallerResult,
  type EarlierMessage,
  type OraclePlugin,
  openCallsOf,
  type PluginContext,
  type Sender,
  type Tools,
  tool,
} from '@palaver/agent';
import type { Approval, SseEventData } from '@palaver/contract';
import { invalid } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { describeRoutes, signalOf, toEvent, toReply } from '@palaver/service-kit/internal';
import { z } from 'zod';
import {
  abortOnLeave,
  answerApprovals,
  type DoorAnswer,
  defineDoor,
  doorConfig,
  findLiveRun,
  type InlineFile,
  keepFiles,
  openRun,
  toBody,
  toCallerTool,
} from './define-door.ts';
import { sendEventStream, type TextPart, toResultText, translateRun } from './translate-run.ts';

const sourceSchema = z.looseObject({ type: z.string(), value: z.string(), mimeType: z.string().optional() });
const partSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  source: sourceSchema.optional(),
  /** Of the type `binary`, which clients before 1.0 send. */
  ...{ data: z.string().optional(), url: z.string().optional(), id: z.string().optional() },
  mimeType: z.string().optional(),
  filename: z.string().optional(),
  metadata: z.looseObject({ filename: z.string().optional() }).optional().catch(undefined),
});
const contentSchema = z.union([z.string(), z.array(partSchema)]);

const messageSchema = z.looseObject({
  id: z.string(),
  role: z.string(),
  content: z.unknown().optional(),
  toolCallId: z.string().optional(),
  error: z.string().optional(),
});

const toolSchema = z.looseObject({
  name: z.string(),
  description: z.string().default(''),
  parameters: z.record(z.string(), z.unknown()).optional(),
});

const bodySchema = z.looseObject({
  threadId: z.string().min(1).max(255),
  runId: z.string().min(1).max(255),
  messages: z.array(messageSchema),
  tools: z.array(toolSchema).default([]),
  context: z.array(z.looseObject({ description: z.string(), value: z.string() })).default([]),
  state: z.unknown().optional(),
  resume: z
    .array(
      z.looseObject({
        interruptId: z.string(),
        status: z.enum(['resolved', 'cancelled']),
        payload: z.unknown().optional(),
      }),
    )
    .default([]),
});

const payloadSchema = z.looseObject({ approved: z.boolean(), reason: z.string().optional() });

type Input = z.infer<typeof bodySchema>;

const stateTool = 'update_page_state';
const changesSchema = z.record(z.string(), z.unknown());

/** `POST /agui`: runs of AG-UI. A thread is a session. */
export function createAguiDoor(): OraclePlugin {
  const updateState = tool({
    description:
      'Changes the state of the application that the user sees. Give only what changes; null removes a field.',
    inputSchema: z.object({ changes: changesSchema }),
    repeatable: true,
    // The page keeps its state and gets the changes with this call.
    execute: () => ({ changed: true }),
  });
  return defineDoor({
    name: 'agui',
    title: 'AG-UI',
    getRequestTools: ({ message }): Tools => (message.metadata?.[stateTool] ? { [stateTool]: updateState } : {}),
    addRoutes,
  });
}

function addRoutes(server: Server, ctx: PluginContext): void {
  const response = { 200: toReply('The events of the run', 'text/event-stream') };
  const schema = describeRoutes('AG-UI')('A run of AG-UI', { body: bodySchema, response });
  server.post('/agui', { config: doorConfig, schema }, async (request, reply) => {
    const input = request.body;
    const signal = signalOf(reply);
    const sender = ctx.senderOf(request, reply);
    if (input.resume.length > 0) {
      const { userDid } = sender;
      const waiting = await findLiveRun(ctx, userDid, input.threadId);
      const { run, answered } = await answerApprovals(ctx, { userDid, run: waiting }, findAnswerIn(input));
      abortOnLeave(run, signal);
      const known = new Set(answered.map(({ toolCallId }) => toolCallId));
      return sendEventStream(reply, toAguiEvents(run, { ...input, known }, signal));
    }
    const named = { userDid: sender.userDid, name: input.threadId };
    const run = await openRun(ctx, named, async (sessionId) => ({
      ...sender,
      ...(await toMessage(ctx, { sender, sessionId }, input)),
    }));
    abortOnLeave(run, signal);
    return sendEventStream(reply, toAguiEvents(run, input, signal));
  });
}

function findAnswerIn({ resume }: Input) {
  return ({ approvalId }: Approval): DoorAnswer | undefined => {
    const entry = resume.find(({ interruptId }) => interruptId === approvalId);
    if (entry?.status === 'cancelled') return { approved: false };
    const { data } = payloadSchema.safeParse(entry?.payload);
    return data && { approved: data.approved, reason: data.reason || undefined };
  };
}

/** The client sends all messages; those after the last answer are new. */
async function toMessage(
  ctx: PluginContext,
  { sender, sessionId }: { sender: Sender; sessionId: string },
  { messages, tools, context, state }: Input,
) {
  const last = await ctx.messages.last(sessionId);
  const open = new Set(openCallsOf(last).map(({ id }) => id));
  const answered = messages.findLastIndex(({ role }) => role === 'assistant');
  const fresh = messages.slice(answered + 1);
  const results = fresh.flatMap(({ role, toolCallId = '', content, error }): CallerResult[] => {
    if (role !== 'tool' || !open.has(toolCallId)) return [];
    return [error ? { toolCallId, error } : { toolCallId, output: toText(content) }];
  });
  const question = fresh.findLast(({ role }) => role === 'user');
  if (!question && results.length === 0)
    throw invalid('messages', 'must end with a message of the user or a result that is waited for');
  const body = toBody(question ? toText(question.content) : '', {
    attachments: await keepFiles(ctx, sender, toFiles(question?.content)),
  });
  // A new session takes its history from the client; later it has its own.
  return {
    body: canChangeState({ state, tools }) ? { ...body, metadata: { [stateTool]: true } } : body,
    earlier: last ? [] : messages.filter((message) => message !== question).flatMap(toEarlier),
    callerTools: tools.map(toCallerTool),
    context: [
      ...context.map(({ description, value }) => `${description}: ${value}`),
      ...(isEmpty(state) ? [] : [`State of the application: ${JSON.stringify(state)}`]),
    ],
    ...(results.length > 0 && { results }),
  };
}

function toEarlier({ role, content }: z.infer<typeof messageSchema>): EarlierMessage[] {
  const text = role === 'tool' ? '' : toText(content);
  if (text === '') return [];
  return [{ type: role === 'assistant' ? 'ai' : 'human', content: text }];
}

function toText(content: unknown): string {
  const parsed = contentSchema.safeParse(content);
  if (!parsed.success) return '';
  return typeof parsed.data === 'string' ? parsed.data : parsed.data.map(({ text = '' }) => text).join('');
}

function toFiles(content: unknown) {
  const parts = contentSchema.safeParse(content).data;
  const files = (typeof parts === 'object' ? parts : [])
    .filter(({ type }) => type !== 'text')
    .map(({ source, data, url, id, mimeType, filename, metadata }): InlineFile => {
      const given = { filename: filename ?? metadata?.filename, mediaType: source?.mimeType ?? mimeType };
      const value = source?.value ?? data ?? url;
      return source?.type === 'file' || id ? { ...given, fileId: id ?? value } : { ...given, data: value };
    });
  return { files, path: 'messages' };
}

function isEmpty(state: unknown): boolean {
  return typeof state !== 'object' || state === null || Object.keys(state).length === 0;
}

/** The page may have a tool of its own by that name. */
const canChangeState = ({ state, tools }: Pick<Input, 'state' | 'tools'>) =>
  !isEmpty(state) && !tools.some(({ name }) => name === stateTool);

/** By RFC 7396. */
function mergePatch(target: unknown, changes: Record<string, unknown>): Record<string, unknown> {
  const merged = new Map(Object.entries(isPlainObject(target) ? target : {}));
  for (const [name, value] of Object.entries(changes))
    if (value === null) merged.delete(name);
    else merged.set(name, isPlainObject(value) ? mergePatch(merged.get(name), value) : value);
  return Object.fromEntries(merged);
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface AguiRun extends Pick<Input, 'threadId' | 'runId' | 'state' | 'tools'> {
  /** Calls that the client knows from the run that was interrupted. */
  known?: Set<string>;
}

/** Calls of tools without a result are the client's to run. */
async function* toAguiEvents(run: AgentRun, asked: AguiRun, signal: AbortSignal) {
  const { threadId, runId, tools, known } = asked;
  const event = (type: string, data: object) => toEvent({ type, timestamp: Date.now(), ...data });
  const of = ({ part }: TextPart) => ({ messageId: `${run.messageId}-${part}` });
  let { state } = asked;
  yield event('RUN_STARTED', { threadId, runId });
  if (state !== undefined && state !== null) yield event('STATE_SNAPSHOT', { snapshot: state });
  const hasState = canChangeState({ state, tools });
  const toState = ({ toolName, status, args }: Call) => {
    if (!hasState || toolName !== stateTool || status !== 'done') return [];
    state = mergePatch(state, changesSchema.parse(args.changes));
    return [event('STATE_SNAPSHOT', { snapshot: state })];
  };
  const toCall = (call: Call) => toCallEvents(call, run.messageId, event);
  yield* translateRun(
    run,
    {
      start: (part) =>
        part.kind === 'text'
          ? [event('TEXT_MESSAGE_START', { ...of(part), role: 'assistant' })]
          : [event('REASONING_START', of(part)), event('REASONING_MESSAGE_START', { ...of(part), role: 'reasoning' })],
      delta: (part, delta) => [
        event(part.kind === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT', { ...of(part), delta }),
      ],
      end: (part) =>
        part.kind === 'text'
          ? [event('TEXT_MESSAGE_END', of(part))]
          : [event('REASONING_MESSAGE_END', of(part)), event('REASONING_END', of(part))],
      call: (call) =>
        call.status === 'isRunning' && known?.has(call.eventId) ? [] : [...toCall(call), ...toState(call)],
      component: ({ componentName: name, args }) => [
        event('CUSTOM', { name: 'render_component', value: { name, args } }),
      ],
      pause: (pending) => [
        ...pending.flatMap(({ toolCallId: eventId, toolName, args }) =>
          toCall({ eventId, toolName, args, status: 'isRunning' }),
        ),
        event('RUN_FINISHED', {
          threadId,
          runId,
          outcome: { type: 'interrupt', interrupts: pending.map(toInterrupt) },
        }),
      ],
      error: ({ error: message, code }) => [event('RUN_ERROR', { message, code })],
      done: ({ status }) => [
        event('RUN_FINISHED', { threadId, runId, ...(status === 'aborted' && { outcome: { type: 'cancelled' } }) }),
      ],
    },
    signal,
  );
}

const answerSchema = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
};

function toInterrupt({ approvalId, toolCallId, toolName, args, expiresAt }: Approval) {
  const message = `May ${toolName} run with ${JSON.stringify(args)}?`;
  return { id: approvalId, reason: 'tool_call', message, toolCallId, responseSchema: answerSchema, expiresAt };
}

type Call = Pick<SseEventData['tool_call'], 'eventId' | 'toolName' | 'args' | 'status' | 'output' | 'error'>;

function toCallEvents(call: Call, parentMessageId: string, event: (type: string, data: object) => string) {
  const { eventId: toolCallId, toolName: toolCallName, args, status, error, output } = call;
  if (status === 'isRunning')
    return [
      event('TOOL_CALL_START', { toolCallId, toolCallName, parentMessageId }),
      event('TOOL_CALL_ARGS', { toolCallId, delta: JSON.stringify(args) }),
      event('TOOL_CALL_END', { toolCallId }),
    ];
  const content = error ?? toResultText(output);
  return [event('TOOL_CALL_RESULT', { messageId: `${toolCallId}-result`, toolCallId, content, role: 'tool' })];
}
