import { AppError } from '@palaver/contract';
import { answerApprovalSchema } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { AgentRun } from '../../plugins/agent-run.ts';
import type { OraclePlugin } from '../../plugins/plugin.ts';
import type { PluginContext } from '../../plugins/plugin-context.ts';
import { defineDoor, openInNamedSession, openInNewSession, signalOf, toBody } from '../define-door.ts';
import { answerApprovals, type DoorAnswer, findPause } from '../door-approvals.ts';
import { sendEventStream } from '../event-stream.ts';
import { publicUrlOf } from '../public-url.ts';
import { type TaskStanding, toTask, toTaskEvents } from './a2a-tasks.ts';

const requestSchema = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string().max(255), z.number(), z.null()]).default(null),
  method: z.string(),
  params: z.unknown().optional(),
});

const sendSchema = z.looseObject({
  message: z.looseObject({
    contextId: z.string().max(255).optional(),
    taskId: z.string().max(255).optional(),
    parts: z.array(z.looseObject({ text: z.string().optional(), data: z.unknown().optional() })).min(1),
  }),
  configuration: z.looseObject({ returnImmediately: z.boolean().optional() }).optional(),
});

const taskSchema = z.looseObject({ id: z.string() });

/** The codes of JSON-RPC and of A2A for errors of the request itself; all others are refusals with a status of HTTP. */
const codes: Record<string, number> = {
  RUN_NOT_FOUND: -32001,
  CONFLICT: -32002,
  APPROVAL_NOT_FOUND: -32004,
  APPROVAL_ANSWERED: -32004,
  METHOD_NOT_ALLOWED: -32601,
  VALIDATION_FAILED: -32602,
  INTERNAL_ERROR: -32603,
};

/** `/.well-known/agent-card.json` and the JSON-RPC route of A2A: a task is a run. */
export function createA2aDoor(): OraclePlugin {
  return defineDoor({
    name: 'a2a',
    title: 'A2A',
    toErrorBody: (error) => toErrorBody(error, null),
    publicRoutes: [{ path: '/.well-known/agent-card.json', method: 'GET' }],
    addRoutes,
  });
}

function toErrorBody({ code, message }: AppError, id: unknown) {
  const data = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'a2a-protocol.org' }];
  return { jsonrpc: '2.0', id, error: { code: codes[code] ?? -32000, message, data } };
}

function addRoutes(server: Server, ctx: PluginContext): void {
  const tags = ['A2A'];
  server.get('/.well-known/agent-card.json', { schema: { tags, summary: 'The agent card of A2A' } }, async (request) =>
    toCard(ctx.oracle.name, publicUrlOf(request, ctx.config.PUBLIC_URL)),
  );

  const schema = { tags, summary: 'JSON-RPC of A2A', body: requestSchema };
  server.post('/a2a', { config: { bareBearer: true }, schema }, async (request, reply) => {
    const { id, method, params } = request.body;
    try {
      return await answer(ctx, { request, reply, requestId: id, method, params });
    } catch (error) {
      // Faults of the call itself are JSON-RPC replies; refusals also have an HTTP status.
      if (error instanceof AppError && error.code in codes && error.code !== 'INTERNAL_ERROR')
        return toErrorBody(error, id);
      throw error;
    }
  });
}

interface Call {
  request: FastifyRequest;
  reply: FastifyReply;
  /** Of JSON-RPC. */
  requestId: unknown;
  method: string;
  params: unknown;
}

async function answer(ctx: PluginContext, { request, reply, requestId, method, params }: Call): Promise<unknown> {
  const toResult = (result: object) => ({ jsonrpc: '2.0', id: requestId, result });
  const signal = signalOf(reply);
  const stream = (run: AgentRun, contextId = run.sessionId) =>
    sendEventStream(reply, toTaskEvents(run, { id: run.runId, contextId }, { requestId, signal }));
  const find = () => ctx.resume({ userDid: ctx.senderOf(request, reply).userDid, runId: parse(taskSchema, params).id });

  switch (method) {
    case 'SendMessage':
    case 'SendStreamingMessage': {
      const { message, configuration } = parse(sendSchema, params);
      const run = await open(ctx, ctx.senderOf(request, reply), message);
      const contextId = message.contextId || run.sessionId;
      if (method === 'SendStreamingMessage') return stream(run, contextId);
      const standing = configuration?.returnImmediately ? undefined : await waitForStanding(run, signal);
      return toResult({ task: toTask({ id: run.runId, contextId }, standing) });
    }
    case 'GetTask': {
      const run = await find();
      const pause = await run.approvals();
      const waiting = pause.length > 0 ? { pause } : undefined;
      const standing = (await run.isLive()) ? waiting : { answer: await run.answer(signal) };
      return toResult(toTask({ id: run.runId, contextId: run.sessionId }, standing));
    }
    case 'CancelTask': {
      const run = await find();
      if (!(await run.abort())) throw new AppError('CONFLICT', 'The task has ended.');
      return toResult(toTask({ id: run.runId, contextId: run.sessionId }, { answer: await run.answer(signal) }));
    }
    case 'SubscribeToTask':
      return stream(await find());
    default:
      throw new AppError('METHOD_NOT_ALLOWED', `There is no method ${method.slice(0, 60)}.`);
  }
}

async function open(
  ctx: PluginContext,
  sender: ReturnType<PluginContext['senderOf']>,
  { contextId, taskId, parts }: z.infer<typeof sendSchema>['message'],
): Promise<AgentRun> {
  const { userDid } = sender;
  if (taskId) {
    const run = await ctx.resume({ userDid, runId: taskId });
    const answers = readAnswers(parts);
    if (await isRepeated(ctx, { userDid, run }, answers)) return run;
    // Never a question: it may be meant as an answer.
    if ((await run.approvals()).length === 0)
      throw new AppError('APPROVAL_NOT_FOUND', 'This task waits for no answer. Send a question without its taskId.');
    return (await answerApprovals(ctx, { userDid, run }, ({ approvalId }) => answers.get(approvalId))).run;
  }
  const text = parts.map((part) => part.text ?? '').join('\n');
  if (text.trim() === '') throw new AppError('VALIDATION_FAILED', 'message.parts: only texts are accepted');
  const message = { ...sender, body: toBody(text) };
  if (!contextId) return openInNewSession(ctx, message);
  const named = { userDid: sender.userDid, name: contextId };
  return openInNamedSession(ctx, named, (sessionId) => ctx.open({ ...message, sessionId }));
}

const answerSchema = answerApprovalSchema.extend({ approvalId: z.string() });

/**
 * Lines `approve <id>` or `refuse <id>` of texts, or `{ approvalId, approved, reason }` as data. Every answer names what it
 * answers, so that one that is sent again approves nothing else. Of two answers the refusal counts.
 */
function readAnswers(parts: z.infer<typeof sendSchema>['message']['parts']): Map<string, DoorAnswer> {
  const answers = parts.flatMap(({ text = '', data }) => {
    const lines = text.matchAll(/^[ \t]*(approve|refuse)[ \t]+(\S+)[ \t]*$/gim);
    const said = [...lines].map(([, word = '', approvalId = '']) => ({
      approvalId,
      approved: word.toLowerCase() === 'approve',
    }));
    const answer = answerSchema.safeParse(data);
    return answer.success ? [...said, answer.data] : said;
  });
  const refusalsLast = [...answers].reverse().sort((a, b) => Number(b.approved) - Number(a.approved));
  return new Map(refusalsLast.map(({ approvalId, ...answer }) => [approvalId, answer]));
}

/** Whether all answers were given before; another answer than the first is refused. */
async function isRepeated(
  ctx: PluginContext,
  { userDid, run }: { userDid: string; run: AgentRun },
  answers: Map<string, DoorAnswer>,
): Promise<boolean> {
  const pending = await run.approvals();
  if (answers.size === 0 || pending.some(({ approvalId }) => answers.has(approvalId))) return false;
  try {
    for (const [approvalId, answer] of answers)
      await ctx.answerApproval({ userDid, runId: run.runId, approvalId, ...answer });
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'APPROVAL_NOT_FOUND') return false;
    throw error;
  }
}

/** The answer, or what the run waits for if that comes first. */
async function waitForStanding(run: AgentRun, signal: AbortSignal): Promise<TaskStanding> {
  for await (const event of run.events({ signal })) {
    const pause = await findPause(run, event);
    if (pause) return { pause };
  }
  return { answer: await run.answer(signal) };
}

function parse<T>(schema: z.ZodType<T>, params: unknown): T {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new AppError('VALIDATION_FAILED', `params.${issue?.path.join('.')}: ${issue?.message}`);
}

function toCard(name: string, url: string) {
  return {
    name,
    description: `${name}, an agent that answers in conversations.`,
    version: '1',
    supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true, pushNotifications: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'chat', name: 'Chat', description: 'Answers questions and uses its tools.', tags: ['chat'] }],
    securitySchemes: { ucan: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'UCAN' } } },
    securityRequirements: [{ schemes: { ucan: { list: [] } } }],
  };
}
