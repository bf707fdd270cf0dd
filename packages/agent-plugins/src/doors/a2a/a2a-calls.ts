import { Readable } from 'node:stream';
import type { AgentRun, PluginContext, RunSummary } from '@palaver/agent';
import { signalOf } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { findPause } from '../door-approvals.ts';
import { sendEventStream } from '../translate-run.ts';
import { A2aFault } from './a2a-faults.ts';
import { openTask, sendSchema } from './a2a-messages.ts';
import { hasEnded, statusesOfStates, toLaterEvents, toTask, toTaskEvents } from './a2a-tasks.ts';

const historyLength = z.number().int().min(0).optional();
const taskSchema = z.looseObject({ id: z.string(), historyLength });

const states = ['TASK_STATE_UNSPECIFIED', ...Object.keys(statusesOfStates)];
const listSchema = z.looseObject({
  contextId: z.string().max(255).optional(),
  status: z.enum(states).optional(),
  pageSize: z.number().int().min(1).max(100).default(50),
  pageToken: z.string().max(255).optional(),
  historyLength,
  statusTimestampAfter: z.iso.datetime({ offset: true }).optional(),
  includeArtifacts: z.boolean().default(false),
});

/** Answers and questions may be long: fewer tasks are on a page that has them. */
const pageCharacters = 256 * 1024;

export interface Call {
  request: FastifyRequest;
  reply: FastifyReply;
  /** Of JSON-RPC. */
  requestId: unknown;
  method: string;
  params: unknown;
}

/** What a call returns; streams are sent at once. */
export async function answerCall(ctx: PluginContext, call: Call): Promise<unknown> {
  const { request, reply, requestId, method, params } = call;
  const toResult = (result: object) => ({ jsonrpc: '2.0', id: requestId, result });
  const sender = ctx.senderOf(request, reply);
  const { userDid } = sender;
  const signal = signalOf(reply);
  const contextOf = ({ sessionId }: { sessionId: string }) => ctx.sessions.nameOf(userDid, sessionId);
  const find = async () => {
    const { id, ...options } = parse(taskSchema, params);
    const run = await ctx.resume({ userDid, runId: id });
    return { run, contextId: await contextOf(run), historyLength: options.historyLength ?? 1 };
  };

  switch (method) {
    case 'SendMessage':
    case 'SendStreamingMessage': {
      const { message, configuration = {} } = parse(sendSchema, params);
      if (configuration.taskPushNotificationConfig) throw noPush();
      const run = await openTask(ctx, sender, message);
      const contextId = message.contextId || (await contextOf(run));
      if (method === 'SendStreamingMessage')
        return sendEventStream(reply, toTaskEvents(ctx.messages, run, { contextId, requestId, signal }));
      if (!configuration.returnImmediately) await untilEndOrPause(run, signal);
      const { historyLength } = configuration;
      return toResult({ task: await toTask(ctx.messages, run, { contextId, historyLength }) });
    }
    case 'GetTask': {
      const { run, ...options } = await find();
      return toResult(await toTask(ctx.messages, run, options));
    }
    case 'ListTasks':
      reply.type('application/json; charset=utf-8');
      return reply.send(await listTasks(ctx, { userDid, contextOf, requestId }, parse(listSchema, params)));
    case 'CancelTask': {
      const { run, ...options } = await find();
      if (!(await run.abort())) throw new A2aFault('TASK_NOT_CANCELABLE', 'The task has ended.');
      await run.answer(signal);
      return toResult(await toTask(ctx.messages, run, options));
    }
    case 'SubscribeToTask': {
      const { run, contextId } = await find();
      if (hasEnded((await run.state()).status)) throw new A2aFault('UNSUPPORTED_OPERATION', 'The task has ended.');
      return sendEventStream(reply, toLaterEvents(ctx.messages, run, { contextId, requestId, signal }));
    }
    case 'CreateTaskPushNotificationConfig':
    case 'GetTaskPushNotificationConfig':
    case 'ListTaskPushNotificationConfigs':
    case 'DeleteTaskPushNotificationConfig':
      throw noPush();
    case 'GetExtendedAgentCard':
      throw new A2aFault('UNSUPPORTED_OPERATION', 'There is no other card than the public one.');
    default:
      throw new A2aFault('METHOD_NOT_FOUND', `There is no method ${method.slice(0, 60)}.`);
  }
}

const noPush = () => new A2aFault('PUSH_NOTIFICATION_NOT_SUPPORTED', 'Tasks are polled or subscribed to.');

async function untilEndOrPause(run: AgentRun, signal: AbortSignal): Promise<void> {
  for await (const event of run.events({ signal })) if (await findPause(run, event)) return;
}

interface Lister {
  userDid: string;
  requestId: unknown;
  contextOf(run: RunSummary): Promise<string>;
}

/** Written as it is read: a client that takes nothing holds no page of tasks in memory. */
async function listTasks(ctx: PluginContext, lister: Lister, query: z.infer<typeof listSchema>): Promise<Readable> {
  const { userDid, contextOf, requestId } = lister;
  const { contextId, status, pageSize, pageToken, historyLength, includeArtifacts } = query;
  const session = contextId ? await ctx.sessions.findNamed(userDid, contextId) : undefined;
  const statuses = status === undefined ? undefined : statusesOfStates[status];
  const isEmpty = (contextId && !session) || statuses?.length === 0;
  const { runs, total } = isEmpty
    ? { runs: [], total: 0 }
    : await ctx.listRuns({
        userDid,
        sessionId: session?.sessionId,
        statuses,
        since: query.statusTimestampAfter === undefined ? undefined : new Date(query.statusTimestampAfter),
        after: pageToken ? fromPageToken(pageToken) : undefined,
        limit: pageSize + 1,
      });

  async function* write(): AsyncGenerator<string> {
    yield `{"jsonrpc":"2.0","id":${JSON.stringify(requestId)},"result":{"tasks":[`;
    let last: RunSummary | undefined;
    let size = 0;
    for (const state of runs.slice(0, pageSize)) {
      if (size >= pageCharacters) break;
      const run = await ctx.resume({ userDid, runId: state.runId });
      const options = { contextId: await contextOf(state), state, historyLength, includeArtifacts };
      const task = JSON.stringify(await toTask(ctx.messages, run, options));
      yield last ? `,${task}` : task;
      size += task.length;
      last = state;
    }
    const nextPageToken = last && last !== runs.at(-1) ? toPageToken(last) : '';
    yield `],"nextPageToken":"${nextPageToken}","pageSize":${pageSize},"totalSize":${total}}}`;
  }
  return Readable.from(write(), { highWaterMark: 1 });
}

const tokenSchema = z.tuple([z.iso.datetime(), z.uuid()]);

function toPageToken({ changedAt, runId }: RunSummary): string {
  return Buffer.from(JSON.stringify([changedAt, runId])).toString('base64url');
}

function fromPageToken(token: string): Pick<RunSummary, 'changedAt' | 'runId'> {
  try {
    const [changedAt, runId] = tokenSchema.parse(JSON.parse(Buffer.from(token, 'base64url').toString()));
    return { changedAt, runId };
  } catch {
    throw new A2aFault('INVALID_PARAMS', 'params.pageToken: must be a token of an earlier page');
  }
}

/** Names of fields as the schema's own file writes them (`page_size`) are accepted too, as in all JSON of Protocol Buffers. */
function toJsonNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toJsonNames);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
      name === 'data' || name === 'metadata' ? field : toJsonNames(field),
    ]),
  );
}

function parse<T>(schema: z.ZodType<T>, params: unknown): T {
  const parsed = schema.safeParse(toJsonNames(params ?? {}));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new A2aFault('INVALID_PARAMS', `${['params', ...(issue?.path ?? [])].join('.')}: ${issue?.message}`);
}
