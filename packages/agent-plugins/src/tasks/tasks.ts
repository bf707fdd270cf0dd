import { randomUUID } from 'node:crypto';
import {
  defineOraclePlugin,
  identityOf,
  type OraclePlugin,
  type PluginContext,
  type RuntimeContext,
  removeSettled,
  type ScheduledPrompt,
  ToolError,
  type Tools,
  tablesOf,
  tool,
} from '@palaver/agent';
import { AppError } from '@palaver/contract';
import {
  offsetPageQuerySchema,
  scheduledMessagePrefix,
  taskCancelledSchema,
  taskListSchema,
  taskParamsSchema,
  taskSchema,
} from '@palaver/contract/internal';
import { envInteger, type Server } from '@palaver/service-kit';
import { describeRoutes } from '@palaver/service-kit/internal';
import { personalTables } from '@palaver/store';
import { sql } from 'kysely';
import { z } from 'zod';
import { createClientHash, toManifest } from '../plugin-parts.ts';
import { createTaskRunner, type TaskRunner } from './tasks-runner.ts';
import { describeSchedule, planSchedule } from './tasks-schedule.ts';
import {
  createTaskStore,
  maxActiveTasks,
  readSchedule,
  sealedTasks,
  type TaskDatabase,
  type TaskOwner,
  type TaskStore,
  taskMigrations,
  taskRetention,
} from './tasks-store.ts';

const configSchema = z.object({
  TASKS_POLL_MS: envInteger({ min: 50, max: 3_600_000 })
    .prefault('5000')
    .meta({ description: 'How often the agent looks for tasks that are due.' }),
});

const scheduleSchema = z.object({
  prompt: z.string().min(1).max(2_000).describe('What to do then, in words that can be understood alone'),
  at: z.string().max(40).describe('Once: ISO 8601, on the clock of the time zone, such as 2030-05-01T09:00').optional(),
  in: z.string().max(40).describe('Once, from now: such as "10 minutes", "2 hours", "3 days"').optional(),
  every: z.string().max(40).describe('Again and again, from now: such as "2 hours"').optional(),
  cron: z.string().max(100).describe('Again and again: minute hour day month weekday, such as "0 9 * * 1"').optional(),
  timezone: z.string().max(64).describe("IANA name; the user's own when not given").optional(),
});

const listed = 50;

export function createTasksPlugin(): OraclePlugin {
  let tasks: TaskStore;
  let runner: TaskRunner;
  let removing: ReturnType<typeof removeSettled>;

  return defineOraclePlugin({
    name: 'tasks',
    version: '1.0.0',
    manifest: toManifest('Tasks', 'Does something later or again and again: reminders, regular reports.', {
      whenToUse: ['the user wants to be reminded', 'the user wants something at a later time or regularly'],
      whenNotToUse: ['what can be done right now'],
      examples: [{ user: 'Remind me to feed the goats in 10 minutes', tool: 'schedule_task' }],
      tags: ['reminders', 'schedule'],
      category: 'productivity',
    }),
    configSchema,
    tables: tablesOf<TaskDatabase>(),
    migrations: taskMigrations,
    personalData: personalTables([
      { table: 'agent_task', sealed: sealedTasks, where: ({ did }) => sql`user_did = ${did}` },
    ]),
    async setup({ store, open, resume, logger, config, deriveKey }) {
      tasks = createTaskStore(store, createClientHash(deriveKey));
      runner = createTaskRunner({
        tasks,
        open: (message, begun) =>
          begun === undefined ? open(message) : resume({ userDid: message.userDid, runId: begun }),
        instance: randomUUID(),
        pollMs: config.TASKS_POLL_MS,
        logger,
      });
      runner.start();
      removing = removeSettled({ store, logger, days: 30, rules: taskRetention });
    },
    async teardown() {
      await Promise.all([runner.stop(), removing.stop()]);
    },
    getTools: () => createTools(tasks),
    schedule: (wanted, rt) => scheduleInTurn(tasks, wanted, rt),
    getPromptSection: (rt) =>
      rt.message.message.startsWith(scheduledMessagePrefix)
        ? 'This message was scheduled earlier by the user and its time has come: do what it says now.'
        : undefined,
    getRoutes: (ctx) => (server) => {
      addTaskRoutes(server, tasks, ctx);
      addFailedTaskRoutes(server, tasks, ctx.audit);
    },
  });
}

function createTools(tasks: TaskStore): Tools {
  return {
    schedule_task: tool({
      description: 'Schedules a prompt for later, once or regularly. Give exactly one of at, in, every and cron.',
      inputSchema: scheduleSchema,
      execute: (wanted, rt) => rt.schedule(wanted),
    }),
    list_tasks: tool({
      description: 'Lists what is scheduled, the next first.',
      repeatable: true,
      inputSchema: z.object({}),
      execute: (_args, rt) => tasks.list(rt.user.did, { limit: listed, offset: 0 }),
    }),
    cancel_task: tool({
      description: 'Cancels a scheduled task by its id; list_tasks has the ids.',
      inputSchema: z.object({ id: z.string().max(100) }),
      async execute({ id }, rt) {
        if (await tasks.cancel(rt.user.did, id)) return { cancelled: id };
        throw new ToolError('TOOL_FAILED', 'there is no such task; list_tasks has the ids');
      },
    }),
  };
}

async function scheduleInTurn(tasks: TaskStore, wanted: ScheduledPrompt, rt: RuntimeContext) {
  rt.abortSignal.throwIfAborted();
  // Otherwise "remind me of X" would, when it is due, be read as a request for another reminder.
  if (rt.message.message.startsWith(scheduledMessagePrefix))
    throw new ToolError('TOOL_UNAVAILABLE', 'this is a scheduled task itself; do it now instead of scheduling it');
  const { data, error } = scheduleSchema.safeParse({ ...wanted, timezone: wanted.timezone ?? rt.user.timezone });
  const owner = { userDid: rt.user.did, sessionId: rt.session.id, client: rt.client };
  const task = data ? await schedule(tasks, owner, data) : z.prettifyError(error);
  if (typeof task === 'string') throw new ToolError('TOOL_FAILED', task);
  return task;
}

async function schedule(tasks: TaskStore, owner: TaskOwner, { prompt, ...wanted }: z.infer<typeof scheduleSchema>) {
  const planned = planSchedule(wanted, Date.now());
  if ('error' in planned) return planned.error;
  return (await tasks.add(owner, prompt, planned)) ?? `there are ${maxActiveTasks} tasks already; cancel one first`;
}

const route = describeRoutes('Tasks');

function addTaskRoutes(server: Server, tasks: TaskStore, ctx: PluginContext): void {
  const list = route('What is scheduled', {
    querystring: offsetPageQuerySchema,
    response: { 200: taskListSchema },
  });
  server.get('/tasks', { schema: list }, async (request) => tasks.list(identityOf(request).did, request.query));

  const add = route('Schedule a prompt', {
    body: scheduleSchema.extend({ sessionId: z.string().describe('Where the answer will be') }),
    response: { 201: taskSchema },
  });
  server.post('/tasks', { config: { refuses: [404] }, schema: add }, async (request, reply) => {
    const { userDid, client, timezone } = ctx.senderOf(request, reply);
    const { sessionId, ...wanted } = request.body;
    if (!(await ctx.sessions.find(userDid, sessionId)))
      throw new AppError('SESSION_NOT_FOUND', 'There is no such session.');
    const owner = { userDid, sessionId, client };
    const task = await schedule(tasks, owner, { ...wanted, timezone: wanted.timezone ?? timezone });
    if (typeof task === 'string') throw new AppError('VALIDATION_FAILED', `Not scheduled: ${task}.`);
    return reply.status(201).send(task);
  });

  const cancel = route('Cancel a task', { params: taskParamsSchema, response: { 200: taskCancelledSchema } });
  server.delete('/tasks/:id', { schema: cancel }, async (request) => {
    if (await tasks.cancel(identityOf(request).did, request.params.id)) return { ok: true as const };
    throw new AppError('NOT_FOUND', 'There is no such task.');
  });
}

const failedTasksSchema = z.object({
  tasks: z.array(
    z.object({
      id: z.string(),
      user: z.string().meta({ description: 'A reference, as in the audit log.' }),
      schedule: z.string(),
      timezone: z.string(),
      failures: z.int(),
      endedAt: z.string().nullable(),
    }),
  ),
});
const maxListed = 100;

/** Operators do not see the prompt: what a task asks for is its user's alone. */
function addFailedTaskRoutes(server: Server, tasks: TaskStore, audit: PluginContext['audit']): void {
  const onRequest = server.operatorGuard;
  const list = route('Tasks that were given up (operators)', { response: { 200: failedTasksSchema } });
  server.get('/tasks/failed', { onRequest, schema: list }, async () => ({
    tasks: (await tasks.listFailed(maxListed)).map(({ id, user_did, timezone, failures, ended_at, ...row }) => ({
      id,
      user: audit.person(user_did),
      timezone,
      failures,
      schedule: describeSchedule(readSchedule(row)),
      endedAt: ended_at === null ? null : new Date(ended_at).toISOString(),
    })),
  }));
  const retry = route('Run a task again that was given up (operators)', {
    params: taskParamsSchema,
    response: { 200: taskCancelledSchema },
  });
  server.post('/tasks/:id/retry', { onRequest, schema: retry }, async ({ params }) => {
    if (await tasks.retry(params.id)) return { ok: true as const };
    throw new AppError('NOT_FOUND', 'There is no such task that was given up.');
  });
}
