import {
  defineOraclePlugin,
  type Middleware,
  type OraclePlugin,
  type PluginContext,
  type RuntimeContext,
  removeSettled,
  type TurnEnd,
  tablesOf,
} from '@palaver/agent';
import { AppError } from '@palaver/contract';
import {
  runTraceSchema,
  type Trace,
  type TraceStep,
  type TraceSummary,
  traceListQuerySchema,
  traceListSchema,
} from '@palaver/contract/internal';
import { envInteger, type Server } from '@palaver/service-kit';
import { describeRoutes, toErrorType } from '@palaver/service-kit/internal';
import { personalTables, type SealedTable } from '@palaver/store';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import { priceVariables, toCost } from '../credits/credits-prices.ts';
import { toFirstSchema, toManifest } from '../plugin-parts.ts';
import { toShownMessage } from '../telemetry/telemetry.ts';

const levels = ['off', 'calls', 'content'] as const;

const configSchema = z.object({
  TRACES: z.enum(levels).prefault('off').meta({
    description:
      'What operators can read of runs: nothing, their model and tool calls (`calls`), or also prompts, answers, arguments and results (`content`), which are personal data.',
    example: 'calls',
  }),
  RETENTION_TRACES_DAYS: envInteger({ min: 1, max: 36_500 })
    .prefault('7')
    .meta({ description: 'Days that traces are kept.' }),
  ...priceVariables,
});

type Config = z.infer<typeof configSchema>;

interface TraceDatabase {
  /** `summary` names nobody; `steps` may have contents. */
  agent_trace: {
    id: string;
    run_id: string;
    user_did: string;
    /** Where there are contents, which go with their session; null without them. */
    session_id: string | null;
    status: TraceSummary['status'];
    started_at: number;
    summary: string;
    steps: string;
  };
}

type Context = PluginContext<Config, TraceDatabase>;

const migrations = toFirstSchema([
  sql`create table agent_trace (
    id text primary key, run_id text not null, user_did text not null,
    session_id text references agent_session (id) on delete cascade, status text not null, started_at bigint not null,
    summary text not null, steps text not null)`,
  sql`create index agent_trace_session on agent_trace (session_id)`,
  sql`create index agent_trace_run on agent_trace (run_id, id)`,
  sql`create index agent_trace_user on agent_trace (user_did)`,
  sql`create index agent_trace_time on agent_trace (started_at)`,
]);

const sealedTraces: SealedTable = { table: 'agent_trace', key: ['id'], sealed: ['steps'] };
const settled = [{ table: 'agent_trace', time: 'started_at', statuses: ['ended', 'failed'] }];

export function createTracesPlugin(): OraclePlugin {
  let removing: ReturnType<typeof removeSettled>;

  return defineOraclePlugin({
    name: 'traces',
    version: '1.0.0',
    manifest: toManifest('Traces', 'Shows operators the calls of runs.', { stability: 'beta' }),
    configSchema,
    autoDetect: ({ TRACES = 'off' }) => TRACES !== 'off',
    autoDetectHint: 'set TRACES=calls',
    tables: tablesOf<TraceDatabase>(),
    migrations,
    personalData: personalTables([
      { table: 'agent_trace', sealed: sealedTraces, where: ({ did }) => sql`user_did = ${did}` },
    ]),
    async setup({ store, logger, config }) {
      removing = removeSettled({ store, logger, days: config.RETENTION_TRACES_DAYS, rules: settled });
    },
    async teardown() {
      await removing?.stop();
    },
    getMiddlewares: (ctx) => [createRecorder(ctx)],
    getRoutes: (ctx) => (server) => addTraceRoutes(server, ctx),
  });
}

const maxSteps = 200;
const maxTextLength = 32 * 1024;
const maxContentLength = 256 * 1024;

type Recording = { startedAt: number; steps: TraceStep[]; contentLeft: number };

function createRecorder({ config, store }: Context): Middleware {
  const hasContent = config.TRACES === 'content';
  // `session` is the same object in all contexts of a turn, those of its tools included.
  const recordings = new WeakMap<RuntimeContext['session'], Recording>();

  /** Records a call even if it fails; the call itself is never changed. */
  async function record<Result>(
    { session }: RuntimeContext,
    step: Pick<TraceStep, 'kind' | 'name' | 'tools'> & { content: unknown },
    work: () => Promise<Result>,
    toEnd: (result: Result) => Pick<TraceStep, 'inputTokens' | 'outputTokens'> & { content: unknown },
  ): Promise<Result> {
    const recording = recordings.get(session);
    if (!recording || recording.steps.length >= maxSteps) return work();
    const keep = (content: unknown) => {
      if (!hasContent) return undefined;
      const text = (JSON.stringify(content) ?? 'null').slice(0, Math.min(maxTextLength, recording.contentLeft));
      recording.contentLeft -= text.length;
      return text;
    };
    const { content, ...rest } = step;
    const begunAt = Date.now();
    const entry: TraceStep = { ...rest, startMs: begunAt - recording.startedAt, durationMs: 0, input: keep(content) };
    recording.steps.push(entry);
    try {
      const result = await work();
      const { content: returned, ...used } = toEnd(result);
      Object.assign(entry, used, { output: keep(returned) });
      return result;
    } catch (error) {
      entry.error = toErrorType(error);
      throw error;
    } finally {
      entry.durationMs = Date.now() - begunAt;
    }
  }

  async function save({ startedAt, steps }: Recording, status: TraceSummary['status'], rt: RuntimeContext) {
    const id = uuidv7();
    const { runId, id: sessionId } = rt.session;
    const modelSteps = steps.filter(({ kind }) => kind === 'model');
    // Its own calls alone: another trace may have those of the same run before it waited.
    const usage: TurnEnd['usageByModel'] = {};
    const used = { inputTokens: 0, outputTokens: 0 };
    for (const { name, inputTokens = 0, outputTokens = 0 } of modelSteps) {
      usage[name] ??= { inputTokens: 0, outputTokens: 0 };
      for (const count of [usage[name], used]) {
        count.inputTokens += inputTokens;
        count.outputTokens += outputTokens;
      }
    }
    const summary: TraceSummary = {
      id,
      runId,
      sessionId,
      status,
      startedAt: new Date(startedAt).toISOString(),
      durationMs: Date.now() - startedAt,
      modelCalls: modelSteps.length,
      toolCalls: steps.length - modelSteps.length,
      ...used,
      cost: toCost(config.CREDITS_PRICES, usage),
    };
    const json = { summary: JSON.stringify(summary), steps: JSON.stringify(steps) };
    const session_id = hasContent ? sessionId : null;
    const row = { id, run_id: runId, user_did: rt.user.did, session_id, status, started_at: startedAt, ...json };
    await store.db.insertInto('agent_trace').values(store.cipher.sealRow(sealedTraces, row)).execute();
  }

  return {
    async wrapTurn(next, rt) {
      const recording: Recording = { startedAt: Date.now(), steps: [], contentLeft: maxContentLength };
      recordings.set(rt.session, recording);
      let status: TraceSummary['status'] = 'failed';
      try {
        await next();
        status = 'ended';
      } finally {
        await save(recording, status, rt).catch((error) => rt.logger.warn({ err: error }, 'a trace was not stored'));
      }
    },
    wrapModelCall: (call, next, rt) =>
      record(
        rt,
        {
          kind: 'model',
          name: call.modelId,
          tools: (call.tools ?? []).map(({ name }) => name),
          content: call.prompt.map(toShownMessage),
        },
        () => next(call),
        ({ text, toolCalls, usage }) => ({ ...usage, content: { text, toolCalls } }),
      ),
    wrapToolCall: (call, next, rt) =>
      record(
        rt,
        { kind: 'tool', name: call.toolName, content: call.args },
        () => next(call),
        (output) => ({ content: output }),
      ),
  };
}

const toSummary = (text: string): TraceSummary => JSON.parse(text);
const toSteps = (text: string): TraceStep[] => JSON.parse(text);

function addTraceRoutes(server: Server, { store }: Context): void {
  const route = describeRoutes('Operators');

  async function find(runId: string): Promise<Trace[]> {
    const own = store.db.selectFrom('agent_trace').selectAll();
    const rows = await own.where('run_id', '=', runId).orderBy('id').execute();
    if (rows.length === 0) throw new AppError('NOT_FOUND', 'There is no trace of this run.');
    return rows.map((row) => {
      const { summary, steps } = store.cipher.openRow(sealedTraces, row, { steps: '[]' });
      return { ...toSummary(summary), steps: toSteps(steps) };
    });
  }

  const onRequest = server.operatorGuardFor('operator');
  const list = route('Traces of runs, the newest first (operators)', {
    querystring: traceListQuerySchema,
    response: { 200: traceListSchema },
  });
  server.get('/traces', { onRequest, schema: list }, async ({ query: { limit, before } }) => {
    const newest = store.db.selectFrom('agent_trace').select('summary').orderBy('id', 'desc');
    const rows = await (before === undefined ? newest : newest.where('id', '<', before)).limit(limit + 1).execute();
    const traces = rows.slice(0, limit).map(({ summary }) => toSummary(summary));
    return { traces, nextCursor: rows.length > limit ? (traces.at(-1)?.id ?? null) : null };
  });
  const ofRun = { params: z.object({ runId: z.uuid() }), response: { 200: runTraceSchema } };
  const show = route('The calls of a run (operators)', ofRun);
  server.get('/traces/:runId', { onRequest, schema: show }, async ({ params: { runId } }) => {
    const traces = await find(runId);
    const withoutContent = ({ input: _input, output: _output, ...step }: TraceStep) => step;
    return { traces: traces.map(({ steps, ...trace }) => ({ ...trace, steps: steps.map(withoutContent) })) };
  });
  const showAll = route('The calls of a run with prompts and answers (admins)', ofRun);
  const forAdmins = { onRequest: server.operatorGuardFor('admin'), schema: showAll };
  server.get('/traces/:runId/content', forAdmins, async ({ params }) => ({ traces: await find(params.runId) }));
}
