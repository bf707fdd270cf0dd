import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { OraclePlugin, PluginContext, RunSummary } from '@palaver/agent';
import { parseJson } from '@palaver/contract/internal';
import type { Server } from '@palaver/service-kit';
import { describeRoutes, isUnchanged, signalOf, toReply } from '@palaver/service-kit/internal';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { defineDoor, doorConfig, findPause } from '../define-door.ts';
import { sendEventStream } from '../translate-run.ts';
import { A2aFault, openTask, refusalSchema, sendSchema, toFault, toFaultBody, toRefusalBody } from './a2a-messages.ts';
import { hasEnded, statusesOfStates, toLaterEvents, toTask, toTaskEvents } from './a2a-tasks.ts';

const version = '1.0';

const idSchema = z.union([z.string().max(255), z.number(), z.null()]);
const requestSchema = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: idSchema.default(null),
  method: z.string(),
  params: z.unknown().optional(),
});

/** `/.well-known/agent-card.json` and the JSON-RPC route of A2A: a task is a run. */
export function createA2aDoor(): OraclePlugin {
  return defineDoor({
    name: 'a2a',
    title: 'A2A',
    toErrorBody: toRefusalBody,
    errorBody: refusalSchema,
    publicRoutes: [{ path: '/.well-known/agent-card.json', method: 'GET' }],
    addRoutes,
  });
}

function addRoutes(server: Server, ctx: PluginContext): void {
  const route = describeRoutes('A2A');
  const cardReplies = { 200: z.unknown().describe('The card'), 304: z.undefined().describe('Unchanged') };
  const cardSchema = route('The agent card of A2A', { response: cardReplies });
  server.get('/.well-known/agent-card.json', { schema: cardSchema }, async (request, reply) => {
    const card = JSON.stringify(toCard(ctx.oracle.name, ctx.urlOf(request)));
    const etag = `"${createHash('sha256').update(card).digest('base64url')}"`;
    reply.headers({ etag, 'cache-control': 'public, max-age=3600' });
    if (isUnchanged(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(card);
  });

  const result = toReply('The result or the fault, or a stream of results', 'application/json', 'text/event-stream');
  const schema = route('JSON-RPC of A2A', { body: requestSchema, response: { 200: result } });
  const options = { config: doorConfig, attachValidation: true };
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const parsed = requestSchema.safeParse(request.body);
    if (!parsed.success) {
      const id = z.object({ id: idSchema }).safeParse(request.body).data?.id ?? null;
      const [issue] = parsed.error.issues;
      const message = `Not a JSON-RPC request: ${issue?.path.join('.')} ${issue?.message}`;
      return reply.code(400).send(toFaultBody(new A2aFault('INVALID_REQUEST', message), id));
    }
    const { id, method } = parsed.data;
    try {
      checkVersion(request, method);
      return await answerCall(ctx, { ...parsed.data, request, reply });
    } catch (error) {
      const fault = toFault(error);
      if (fault) return toFaultBody(fault, id);
      throw error;
    }
  };
  server.post('/a2a', { ...options, schema }, answer);
  // Clients that join a path to the address of the card add the slash.
  server.post('/a2a/', { ...options, schema: { ...schema, hide: true } }, answer);
}

/** Without a version the method's name says it: those of 0.3 have a slash. Calls written by hand have no version. */
function checkVersion(request: FastifyRequest, method: string): void {
  const asked = request.headers['a2a-version'] ?? z.looseObject({}).parse(request.query)['A2A-Version'];
  if (asked === undefined ? !method.includes('/') : /^1\.0(?:\.\d+)?$/.test(String(asked).trim())) return;
  throw new A2aFault('VERSION_NOT_SUPPORTED', `This interface has version ${version} of A2A only.`);
}

function toCard(name: string, url: string) {
  return {
    name,
    description: `${name}, an agent that answers in conversations.`,
    version: '1',
    supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: version }],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'chat', name: 'Chat', description: 'Answers questions and uses its tools.', tags: ['chat'] }],
    securitySchemes: { ucan: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'UCAN' } } },
    securityRequirements: [{ schemes: { ucan: { list: [] } } }],
  };
}

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

type Call = z.infer<typeof requestSchema> & { request: FastifyRequest; reply: FastifyReply };

async function answerCall(ctx: PluginContext, call: Call): Promise<unknown> {
  const { request, reply, id: requestId, method, params } = call;
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
      if (!configuration.returnImmediately)
        for await (const event of run.events({ signal })) if (await findPause(run, event)) break;
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

type Lister = { userDid: string; requestId: unknown; contextOf(run: RunSummary): Promise<string> };

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
    const token = last && last !== runs.at(-1) ? JSON.stringify([last.changedAt, last.runId]) : '';
    const nextPageToken = Buffer.from(token).toString('base64url');
    yield `],"nextPageToken":"${nextPageToken}","pageSize":${pageSize},"totalSize":${total}}}`;
  }
  return Readable.from(write(), { highWaterMark: 1 });
}

const tokenSchema = z.tuple([z.iso.datetime(), z.uuid()]);

function fromPageToken(token: string): Pick<RunSummary, 'changedAt' | 'runId'> {
  const { data } = tokenSchema.safeParse(parseJson(Buffer.from(token, 'base64url').toString()));
  if (!data) throw new A2aFault('INVALID_PARAMS', 'params.pageToken: must be a token of an earlier page');
  return { changedAt: data[0], runId: data[1] };
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
