import { type AgentRun, type CallerResult, type OraclePlugin, openCallsOf, type PluginContext } from '@palaver/agent';
import type { Approval, SseEventData } from '@palaver/contract';
import { invalid } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { describeRoutes, toEvent, toReply } from '@palaver/service-kit/internal';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import {
  answerApprovals,
  type DoorAnswer,
  defineDoor,
  doorConfig,
  findLiveRun,
  keepFiles,
  openRun,
  toBody,
  toCallerTool,
} from './define-door.ts';
import { sendEventStream, translateRun } from './translate-run.ts';

const partSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  url: z.string().optional(),
  mediaType: z.string().optional(),
  filename: z.string().optional(),
  toolCallId: z.string().optional(),
  state: z.string().optional(),
  output: z.unknown().optional(),
  errorText: z.string().optional(),
  approval: z
    .looseObject({ id: z.string(), approved: z.boolean().optional(), reason: z.string().optional() })
    .optional(),
});

const messageSchema = z.looseObject({
  id: z.string(),
  role: z.enum(['system', 'user', 'assistant']),
  parts: z.array(partSchema),
});

const toolSchema = z.looseObject({
  description: z.string().optional(),
  parameters: z.record(z.string(), z.unknown()).optional(),
  inputSchema: z.record(z.string(), z.unknown()).optional(),
});

const bodySchema = z.looseObject({
  id: z.string().min(1).max(255),
  messages: z.array(messageSchema).meta({ minItems: 1 }),
  /** By name, as `assistant-ui` sends them; other clients put them into the transport's `body`. */
  tools: z.record(z.string(), toolSchema).optional(),
  system: z.string().optional(),
  model: z.string().optional(),
});

type UiMessage = z.infer<typeof messageSchema>;

/** `POST /api/chat` and `GET /api/chat/:id/stream`: the UI message stream of the AI SDK, which `useChat` reads. */
export const createAiSdkDoor = (): OraclePlugin => defineDoor({ name: 'ai-sdk', title: 'AI SDK', addRoutes });

function addRoutes(server: Server, ctx: PluginContext): void {
  const stream = toReply('A UI message stream', 'text/event-stream');
  const route = describeRoutes('AI SDK');
  const send = route('Send a message of useChat', { body: bodySchema, response: { 200: stream } });

  server.post('/api/chat', { config: doorConfig, schema: send }, async (request, reply) => {
    const { id, messages, tools = {}, system, model } = request.body;
    const last = messages.at(-1);
    if (!last) throw invalid('messages', 'must not be empty');
    const sender = ctx.senderOf(request, reply);
    const { userDid } = sender;
    if (last.role === 'assistant' && last.parts.some(({ state }) => state === 'approval-responded')) {
      const run = await findLiveRun(ctx, userDid, id);
      const resumed = await answerApprovals(ctx, { userDid, run }, findAnswerIn(last));
      return sendChunks(reply, resumed.run, { messageId: last.id, answered: resumed.answered });
    }
    const isResult = last.role === 'assistant';
    const run = await openRun(ctx, { userDid, name: id }, async (sessionId) => ({
      ...sender,
      body: isResult
        ? toBody('', { model })
        : toBody(toText(last), { model, attachments: await keepFiles(ctx, sender, toFiles(last)) }),
      callerTools: Object.entries(tools).map(([name, { description, parameters, inputSchema }]) =>
        toCallerTool({ name, description, parameters: inputSchema ?? parameters }),
      ),
      context: system ? [system] : [],
      ...(isResult && { results: await findResults(ctx, sessionId, last) }),
    }));
    // Results belong to the message that asked for them: what follows continues it.
    const messageId = isResult ? last.id : run.messageId;
    return sendChunks(reply, run, { messageId, callers: new Set(Object.keys(tools)) });
  });

  const resume = route('Continue to read the answer of a chat', {
    params: z.object({ id: z.string().min(1).max(255) }),
    response: { 200: stream, 204: z.undefined().describe('There is no answer to continue') },
  });
  server.get('/api/chat/:id/stream', { config: doorConfig, schema: resume }, async (request, reply) => {
    const { userDid } = ctx.senderOf(request, reply);
    const run = await findLiveRun(ctx, userDid, request.params.id);
    if (!run) return reply.status(204).send();
    return sendChunks(reply, run, { messageId: run.messageId });
  });
}

function findAnswerIn({ parts }: UiMessage) {
  return ({ approvalId }: Approval): DoorAnswer | undefined => {
    const { approved, reason } = parts.find(({ approval }) => approval?.id === approvalId)?.approval ?? {};
    return approved === undefined ? undefined : { approved, reason: reason || undefined };
  };
}

const isFile = ({ type }: UiMessage['parts'][number]) => type === 'file';

function toText({ parts }: UiMessage): string {
  const text = parts.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('');
  if (text === '' && !parts.some(isFile)) throw invalid('messages', 'the last message must have a text or a file');
  return text;
}

const toFiles = ({ parts }: UiMessage) => ({
  path: 'messages',
  files: parts.filter(isFile).map(({ url, ...file }) => ({ ...file, data: url })),
});

async function findResults(ctx: PluginContext, sessionId: string, { parts }: UiMessage): Promise<CallerResult[]> {
  const open = new Set(openCallsOf(await ctx.messages.last(sessionId)).map(({ id }) => id));
  const results = parts.flatMap(({ toolCallId = '', state, output, errorText }): CallerResult[] => {
    if (!open.has(toolCallId)) return [];
    if (state === 'output-available') return [{ toolCallId, output }];
    return state === 'output-error' ? [{ toolCallId, error: errorText ?? 'The tool failed.' }] : [];
  });
  if (results.length === 0)
    throw invalid('messages', 'must end with a message of the user or a result that is waited for');
  return results;
}

const finishReasons: Record<string, string> = {
  length: 'length',
  content_filter: 'content-filter',
  tool_calls: 'tool-calls',
};

interface UiStreamOptions {
  messageId: string;
  callers?: Set<string>;
  /** Approvals that the client has just answered, so it knows their calls. */
  answered?: Approval[];
}

function sendChunks(reply: FastifyReply, run: AgentRun, options: UiStreamOptions): Promise<FastifyReply> {
  return sendEventStream(reply, toUiChunks(run, options), { 'x-vercel-ai-ui-message-stream': 'v1' });
}

async function* toUiChunks(run: AgentRun, { messageId, callers, answered = [] }: UiStreamOptions) {
  yield toEvent({ type: 'start', messageId });
  yield toEvent({ type: 'start-step' });
  yield* translateRun(run, {
    start: ({ kind, part }) => [toEvent({ type: `${kind}-start`, id: `${kind}-${part}` })],
    delta: ({ kind, part }, delta) => [toEvent({ type: `${kind}-delta`, id: `${kind}-${part}`, delta })],
    end: ({ kind, part }) => [toEvent({ type: `${kind}-end`, id: `${kind}-${part}` })],
    // A tool of the agent may have the name of one of the client's: which one it is shows when it ends.
    call(call) {
      const approval = answered.find(({ toolCallId }) => toolCallId === call.eventId);
      return toCallChunks(call, callers?.has(call.toolName) ?? false, approval);
    },
    component: ({ eventId: id, componentName: name, args }) => [
      toEvent({ type: 'data-component', id, data: { name, args } }),
    ],
    // In a step of their own: the client waits for all calls of the last step, and a sub-agent that asks has not ended.
    pause: (pending) => [
      toEvent({ type: 'finish-step' }),
      toEvent({ type: 'start-step' }),
      ...pending.flatMap(toApprovalChunks),
      ...toLastChunks('tool-calls'),
    ],
    error: ({ error: errorText }) => [toEvent({ type: 'error', errorText })],
    endsAfterError: true,
    done: ({ status, finish = '' }, left) => [
      ...left.map(({ eventId: toolCallId, toolName, args: input }) =>
        toEvent({ type: 'tool-input-available', toolCallId, toolName, input }),
      ),
      ...toLastChunks(
        status === 'aborted' ? undefined : (finishReasons[finish] ?? (status === 'failed' ? 'error' : 'stop')),
      ),
    ],
  });
}

/** Without a reason the answer was aborted. */
function toLastChunks(finishReason?: string): string[] {
  const end = finishReason === undefined ? { type: 'abort' } : { type: 'finish', finishReason };
  return [toEvent({ type: 'finish-step' }), toEvent(end), toEvent('[DONE]')];
}

function toApprovalChunks(request: Approval): string[] {
  const { approvalId, toolCallId, toolName, args, expiresAt, capability, invocation } = request;
  const approvalDescriptor = { expiresAt, capability, invocation };
  return [
    toEvent({ type: 'tool-input-available', ...toCallHere(toolCallId), toolName, input: args }),
    toEvent({ type: 'tool-approval-request', approvalId, toolCallId, approvalDescriptor }),
  ];
}

/** `providerExecuted`: it ran here, so the client neither runs it nor sends the conversation again because of it. */
const toCallHere = (toolCallId: string) => ({ toolCallId, providerExecuted: true, dynamic: true });

function toCallChunks(call: SseEventData['tool_call'], mayBeCallers: boolean, approval: Approval | undefined) {
  const { eventId: toolCallId, toolName, args: input, status, output = null, error } = call;
  const here = toCallHere(toolCallId);
  if (approval?.status === 'refused')
    return status === 'error' ? [toEvent({ type: 'tool-output-denied', toolCallId })] : [];
  const chunks: object[] = [];
  if (!approval && mayBeCallers === (status !== 'isRunning'))
    chunks.push({ type: 'tool-input-available', ...here, toolName, input });
  if (status === 'done') chunks.push({ type: 'tool-output-available', ...here, output });
  if (status === 'error') chunks.push({ type: 'tool-output-error', ...here, errorText: error ?? 'The tool failed.' });
  return chunks.map((chunk) => toEvent(chunk));
}
